"""Hostile input over every reader, with one law: exit 0, 1 or 2 and a message; no traceback, 10 seconds, 1 GB.

    python benchmarks/fuzz.py --cases 50000
    python benchmarks/fuzz.py --cases 1 --first 4711 --reader policy.json --show

A case is known by its number. Cases run in forked processes with limits of their own, a batch in each; what a case of a
process that died was is known from the pipe. Ends with 1 when a case breaks the law.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fuzz_inputs import Reader, execute, prepare, readers

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
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        prepare(folder)
        for number in numbers:
            rng = random.Random(number)
            reader = rng.choice(chosen)
            os.write(writing, f"{number}\t{reader.name}\n".encode())
            data, command = reader.case(rng)
            start = time.monotonic()
            what = _verdict(folder, reader, data, command)
            os.write(writing, f"{number}\t{reader.name}\t{what}\t{time.monotonic() - start:.3f}\n".encode())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _verdict(folder: Path, reader: Reader, data: bytes, command: Sequence[str]) -> str:
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    # A handler that cannot run (in a long loop of C) is followed by a signal that ends the process.
    try:
        outcome = execute(folder, reader, data, command)
    except TooSlowError:
        return f"over {SECONDS} s"
    except BaseException as error:
        return f"{type(error).__name__} escaped"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if "not enough memory" in outcome.err:
        return "over 1 GB"
    return outcome.fault or str(outcome.status)


def _size() -> int:
    """Bytes of address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def show(number: int, chosen: Sequence[Reader]) -> None:
    """Runs one case here, and prints what it was and what it did."""
    rng = random.Random(number)
    reader = rng.choice(chosen)
    data, command = reader.case(rng)
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        outcome = execute(Path(name), reader, data, command)
    click.echo(f"{reader.name}: {' '.join(command)}\n{data[:3000]!r}\nexit {outcome.status}\n{outcome.err[-3000:]}")


@click.command()
@click.option("--cases", type=int, default=50_000, show_default=True)
@click.option("--first", type=int, default=0, help="The number of the first case.")
@click.option("--reader", "names", multiple=True, help="Only these.")
@click.option("--show", "showing", is_flag=True, help="Print the first case and what it does.")
def main(cases: int, first: int, names: tuple[str, ...], showing: bool) -> None:
    """Runs the cases and prints counts by reader."""
    chosen = [reader for reader in readers() if not names or reader.name in names]
    if showing:
        show(first, chosen)
        return
    counts: dict[str, Counter[str]] = {reader.name: Counter() for reader in chosen}
    slowest, bad = 0.0, 0
    for begin in range(first, first + cases, BATCH):
        for verdict in run_batch(range(begin, min(begin + BATCH, first + cases)), chosen):
            counts.setdefault(verdict.reader, Counter())[verdict.what if verdict.lawful else "BAD"] += 1
            slowest = max(slowest, verdict.seconds)
            if not verdict.lawful:
                bad += 1
                click.echo(f"case {verdict.number}: {verdict.reader}: {verdict.what}", err=True)
    click.echo(f"{'READER':28}{'CASES':>8}{'EXIT 0':>8}{'EXIT 1':>8}{'EXIT 2':>8}{'BAD':>6}")
    for name, found in counts.items():
        columns = "".join(f"{found[what]:8}" for what in ("0", "1", "2"))
        click.echo(f"{name:28}{found.total():8}{columns}{found['BAD']:6}")
    total = sum(found.total() for found in counts.values())
    click.echo(f"{total} cases, {bad} against the law, the slowest took {slowest:.1f} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
