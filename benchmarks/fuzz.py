"""Hostile input over every reader, with one law: exit 0, 1 or 2 and a message; no traceback, 10 seconds, 1 GB.

    python benchmarks/fuzz.py --cases 50000
    python benchmarks/fuzz.py --cases 1 --first 4711 --reader policy.json --show

A case is known by its number. Cases run in forked processes with limits of their own, a batch in each; what a case of a
process that died was is known from the pipe. Ends with 1 when a case breaks the law.
"""

from __future__ import annotations

import faulthandler
import functools
import gc
import multiprocessing
import os
import random
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import click

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fuzz_cases import Case, Reader, execute
from benchmarks.fuzz_inputs import readers
from kubescheduler.cli import TRACEBACK

ROOT = Path(__file__).resolve().parent.parent
DETAILS = "details.txt"
"""Where the program writes a traceback that it does not show."""
SECONDS, BYTES = 10, 2**30
BATCH = 200


@attrs.frozen
class Verdict:
    """What became of a case: the exit status, or how it broke the law."""

    number: int
    reader: str
    what: str
    seconds: float = 0.0

    @property
    def lawful(self) -> bool:
        """Whether it ended as it should."""
        return self.what in ("0", "1", "2")


class TooSlowError(BaseException):
    """A case took longer than SECONDS; no handler of the program's own catches it."""


def _too_slow(*_: object) -> None:
    raise TooSlowError


def run_batch(numbers: Sequence[int], chosen: Sequence[Reader]) -> Iterator[Verdict]:
    """The verdicts of cases that run in one forked process; it is begun anew behind a case that ends it."""
    left = list(numbers)
    while left:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _in_the_child(left, chosen, writing)
        os.close(writing)
        begun: list[str] = []
        with os.fdopen(reading) as lines:
            for line in lines:
                begun = line.rstrip("\n").split("\t")
                if len(begun) == 4:
                    left.pop(0)
                    yield Verdict(int(begun[0]), begun[1], begun[2], float(begun[3]))
        status = os.waitpid(child, 0)[1]
        if left and status:
            number = left.pop(0)
            yield Verdict(number, begun[1] if len(begun) > 1 else "?", _ending(status))
        elif left:
            raise RuntimeError(f"the process ended before case {left[0]}")


def _ending(status: int) -> str:
    return f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"ended with {status >> 8}"


def _in_the_child(numbers: Sequence[int], chosen: Sequence[Reader], writing: int) -> None:
    """Runs the cases one by one; before and after each a line goes to the pipe."""
    resource.setrlimit(resource.RLIMIT_AS, (_size() + BYTES, _size() + BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, _too_slow)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    harness = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    status = 0
    try:
        os.environ[TRACEBACK] = str(folder / DETAILS)
        for number in numbers:
            rng = random.Random(number)
            reader = rng.choice(chosen)
            os.write(writing, f"{number}\t{reader.name}\n".encode())
            case = reader.case(rng)
            start = time.monotonic()
            what = _verdict(folder, case)
            os.write(writing, f"{number}\t{reader.name}\t{what}\t{time.monotonic() - start:.3f}\n".encode())
    except BaseException:  # a fault of this program
        os.write(harness, traceback.format_exc().encode())
        status = 3
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(status)


def _verdict(folder: Path, case: Case) -> str:
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    # A handler that cannot run (in a long loop of C) is followed by the end of the process.
    faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
    try:
        outcome = execute(folder, case)
    except TooSlowError:
        return f"over {SECONDS} s"
    except BaseException as error:
        return f"{type(error).__name__} escaped"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        if case.exchanges:
            gc.collect()  # connections of this case, whose end the next one would report if it nests too deeply
    if "not enough memory" in outcome.err:
        return "over 1 GB"
    details = folder / DETAILS
    if outcome.fault == "traceback" and details.exists():
        return _origin(details.read_text())
    return outcome.fault or str(outcome.status)


def _origin(trace: str) -> str:
    """The last place of a traceback, and the error."""
    places = re.findall(r'File "([^"]*)", line (\d+)', trace) or [("?", "?")]
    file, line = next((place for place in reversed(places) if str(ROOT) in place[0]), places[-1])
    error = trace.strip().splitlines()[-1][:200]
    return f"traceback: {file.removeprefix(str(ROOT))}:{line}: {error}".replace("\t", " ")


def _size() -> int:
    """Bytes of address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def show(number: int, chosen: Sequence[Reader]) -> None:
    """Runs one case here, and prints what it was and what it did."""
    rng = random.Random(number)
    reader = rng.choice(chosen)
    case = reader.case(rng)
    with tempfile.TemporaryDirectory() as name:
        outcome = execute(Path(name), case)
    click.echo(f"{reader.name}: {shlex.join(case.command)!r}")
    for file, data in {**case.files, "standard input": case.stdin}.items():
        click.echo(f"{file}: {data[:3000]!r}")
    click.echo(
        f"extender: {case.exchanges!r}\nexit {outcome.status}: {outcome.fault}\n"
        f"{outcome.out[-3000:]}{outcome.err[-3000:]}"
    )


def _verdicts(names: Sequence[str], numbers: Sequence[int]) -> list[Verdict]:
    """A batch, in a process that does batches."""
    return list(run_batch(numbers, _chosen(names)))


def _chosen(names: Sequence[str]) -> list[Reader]:
    """The readers of these names, all without any."""
    return [reader for reader in readers() if not names or reader.name in names]


def _warm(chosen: Sequence[Reader]) -> None:
    """Imports here what the forked processes would each import anew."""
    with tempfile.TemporaryDirectory() as name:
        for reader in chosen:
            execute(Path(name), reader.case(random.Random(0)))


@click.command()
@click.option("--cases", type=int, default=50_000, show_default=True)
@click.option("--first", type=int, default=0, help="The number of the first case.")
@click.option("--reader", "names", multiple=True, help="Only these.")
@click.option("--jobs", type=int, default=2, show_default=True, help="Processes at work.")
@click.option("--show", "showing", is_flag=True, help="Print the first case and what it does.")
def main(cases: int, first: int, names: tuple[str, ...], jobs: int, showing: bool) -> None:
    """Runs the cases and prints counts by reader."""
    chosen = _chosen(names)
    if showing:
        show(first, chosen)
        return
    _warm(chosen)
    counts: dict[str, Counter[str]] = {reader.name: Counter() for reader in chosen}
    slowest, bad = 0.0, 0
    batches = [range(begin, min(begin + BATCH, first + cases)) for begin in range(first, first + cases, BATCH)]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for verdicts in pool.imap_unordered(functools.partial(_verdicts, names), batches):
            for verdict in verdicts:
                counts.setdefault(verdict.reader, Counter())[verdict.what if verdict.lawful else "BAD"] += 1
                slowest = max(slowest, verdict.seconds)
                if not verdict.lawful:
                    bad += 1
                    click.echo(f"case {verdict.number}: {verdict.reader}: {verdict.what}", err=True)
    _print_counts(counts, bad, slowest)
    sys.exit(1 if bad else 0)


def _print_counts(counts: Mapping[str, Counter[str]], bad: int, slowest: float) -> None:
    click.echo(f"{'READER':36}{'CASES':>8}{'EXIT 0':>8}{'EXIT 1':>8}{'EXIT 2':>8}{'BAD':>6}")
    for name, found in counts.items():
        columns = "".join(f"{found[what]:8}" for what in ("0", "1", "2"))
        click.echo(f"{name:36}{found.total():8}{columns}{found['BAD']:6}")
    total = sum(found.total() for found in counts.values())
    click.echo(f"{total} cases, {bad} against the law, the slowest took {slowest:.1f} s")


if __name__ == "__main__":
    main()
