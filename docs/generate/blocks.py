"""The examples in the documentation: found, run, and their outputs compared or written anew; so the decisions of
``policy_examples``.

A document's fenced blocks are run from top to bottom in one empty folder that has the project's
``policy_examples``:

- ``console``: each ``$ command`` is run by bash; the lines below it are its output (standard error included).
  A line ``…`` stands for any lines. A command that ends in ``&`` runs on until the document ends. One that names
  ``--context`` or ``~/.kube/config`` finds the example cluster behind an API server.
- ``python``: run after the earlier Python blocks of the document, by the same process.

A comment in the line before a block says more about it: ``<!-- file: NAME -->`` writes the block to a file instead
of running it, ``<!-- append: NAME -->`` adds it to that file as another YAML document, ``<!-- output -->`` makes it
the output of the Python block before, and ``<!-- not run -->`` leaves it alone.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import attrs
import yaml

from docs.generate.warm_process import put_into
from kubescheduler.live.cluster_lists import LISTED_KINDS
from kubescheduler.live.transport.io_thread import IoThread
from tests.support.apiserver import ApiServer

SHOWN = "https://10.0.0.1:6443"
"""How outputs show the server's address."""
CONTEXT = "production"
"""The kubeconfig's only context."""
ASKING = ("--context", ".kube/config")
"""A command that says one of these is given the server."""


@contextmanager
def example_server(home: Path, files: list[Path]) -> Iterator[str]:
    """Serves the objects of manifests, with a kubeconfig below ``home`` that leads to them. The address.

    Pods and services without a namespace are in ``default``, and pods have what an API server fills in.
    """
    with IoThread() as io, ApiServer(io) as server:
        paths = {kind.kind: kind.path(kind.groups[0]) for kind in LISTED_KINDS}
        for item in (item for file in files for item in yaml.safe_load_all(file.read_text(encoding="utf-8"))):
            namespace = "" if item["kind"] == "Node" else item["metadata"].setdefault("namespace", "default")
            if item["kind"] == "Pod":
                item["spec"].setdefault("schedulerName", "default-scheduler")
                item.setdefault("status", {}).setdefault("phase", "Pending")
            server.storage.create(paths[item["kind"]], namespace, item)
        _write_kubeconfig(home / ".kube" / "config", server.url)
        yield server.url


def _write_kubeconfig(file: Path, url: str) -> None:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": "me"}}],
    }
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(document), encoding="utf-8")


ROOT = Path(__file__).parents[2]
POLICY_EXAMPLES = ROOT / "policy_examples"
PORT = 8888
"""The port that documents name; a free one takes its place when they are run."""
HOME = "/home/you/shop"
"""How outputs show the folder in which a document is run."""

FENCE = re.compile(r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
UNNAMED = re.compile(r"^<!-- (?:output|file: .*|append: .*) -->\n```$", re.MULTILINE)
SECONDS = re.compile(r"\bin \d+\.\d+s")
ANY_LINES = "…"
EXAMPLES = ("cluster.yaml", "pod.yaml")
"""Of ``policy_examples``: the example cluster, and a pod that is pending in it."""

PYTHON = """
import json, os, sys
done, space = int(sys.argv.pop()), {"__name__": "__main__"}
for code in sys.stdin:
    exec(json.loads(code), space)
    sys.stdout.flush()
    os.write(done, b"x")
"""
"""Runs the blocks that come in, one a line, and says when each is done."""

PYTEST = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "kubescheduler.testing.pytest_plugin"}
"""pytest of the examples has no other plugin: those that happen to be installed take longest to begin with."""
CHANGING = ("PYTEST", "COV", "CI", "BUILD_NUMBER")
"""What variables begin with that change how programs write; on a build server pytest writes more."""


@attrs.frozen
class Block:
    """One fenced block. start, end: where its body is in the text. note: the comment before it, or empty."""

    kind: str
    note: str
    body: str
    start: int
    end: int
    line: int


def documents() -> list[Path]:
    """Every Markdown file whose examples are run."""
    found = [*ROOT.glob("*.md"), *POLICY_EXAMPLES.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(found)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a document. Raises ValueError for a comment on a block that has no language: it would be
    compared with nothing."""
    if lost := UNNAMED.search(text):
        raise ValueError(f"a block after {lost[0].splitlines()[0]!r} has no language")
    return [
        Block(
            kind=match["kind"],
            note=match["note"] or "",
            body=match["body"],
            start=match.start("body"),
            end=match.end("body"),
            line=text.count("\n", 0, match.start("body")) + 1,
        )
        for match in FENCE.finditer(text)
    ]


def refreshed(text: str, folder: Path) -> str:
    """The text with every output as it really is; unchanged where it was right."""
    out, done = [], 0
    with Session(folder, text) as session:
        for block in blocks(text):
            out += [text[done : block.start], session.run(block)]
            done = block.end
    return "".join(out) + text[done:]


class Session:
    """A folder in which the blocks of ``document`` are run. Programs left running end with it."""

    def __init__(self, folder: Path, document: str) -> None:
        self.folder = folder
        self._port = _free_port(document)
        self._python: tuple[subprocess.Popen[str], int] | None = None
        self._printed = ""
        self._status = 0
        self._running: list[subprocess.Popen[str]] = []
        self._servers = contextlib.ExitStack()
        self._server = ""
        shutil.copytree(POLICY_EXAMPLES, folder / "policy_examples")
        for path in (folder / "policy_examples").glob("*.*"):
            self._write(path, path.read_text(encoding="utf-8"))
        _fake_kubectl(folder / ".bin")
        put_into(folder / ".bin")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        for process in self._running:
            process.terminate()
            process.communicate()
        self._servers.close()

    def run(self, block: Block) -> str:
        """The body as it has to be."""
        what, _, name = block.note.partition(": ")
        if what == "not run":
            return block.body
        if what in ("file", "append"):
            path = self.folder / name
            before = path.read_text(encoding="utf-8") + "---\n" if what == "append" else ""
            self._write(path, before + block.body)
            return block.body
        if what == "output":
            return agreed(block.body, self._printed)
        if block.kind == "python":
            self._printed = self._run_python(block)
        elif block.kind == "console":
            return "".join(self._command(command, shown) for command, shown in commands(block.body))
        return block.body

    def _write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(str(PORT), str(self._port)), encoding="utf-8")

    def _run_python(self, block: Block) -> str:
        """One process runs all blocks of the document: none does again what those above it did."""
        printed = self.folder / ".printed"
        if self._python is None:
            done, told = os.pipe()
            with printed.open("w") as stream:
                process = subprocess.Popen(
                    [sys.executable, "-c", PYTHON, str(told)],
                    cwd=self.folder,
                    env=self._environment(),
                    stdin=subprocess.PIPE,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    text=True,
                    pass_fds=[told],
                )
            os.close(told)
            self._servers.callback(os.close, done)
            self._running.append(process)
            self._python = process, done
        process, done = self._python
        assert process.stdin is not None
        before = printed.stat().st_size
        process.stdin.write(json.dumps(block.body.replace(str(PORT), str(self._port))) + "\n")
        process.stdin.flush()
        ended = not os.read(done, 1)
        text = printed.read_bytes()[before:].decode()
        assert not ended, f"line {block.line}: {text}"
        return self._shown(text)

    def _shown(self, printed: str) -> str:
        if self._server:
            printed = printed.replace(self._server, SHOWN)
        return printed.replace(str(self._port), str(PORT)).replace(str(self.folder), HOME)

    def _command(self, command: str, shown: str) -> str:
        typed = command.replace("\n> ", "\n").replace(str(PORT), str(self._port))
        if not self._server and any(word in command for word in ASKING):
            examples = [self.folder / "policy_examples" / name for name in EXAMPLES]
            self._server = self._servers.enter_context(example_server(self.folder / ".home", examples))
        if typed.endswith(" &"):
            printed = self._start(typed.removesuffix(" &"))
        else:
            done = self._process(["bash", "-c", f"(exit {self._status}); {typed}"], "")
            self._status, printed = done.returncode, done.stdout
        return f"$ {command}\n" + agreed(shown, self._shown(printed))

    def _start(self, command: str) -> str:
        """Starts a program and waits for its first line."""
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        assert process.stdout is not None
        return process.stdout.readline()

    def _process(self, arguments: list[str], given: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments,
            cwd=self.folder,
            env=self._environment(),
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )

    def _environment(self) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(CHANGING)}
        path = os.pathsep.join([str(self.folder / ".bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        home = {"HOME": str(self.folder / ".home"), "KUBECONFIG": ""} if self._server else {}
        return {**inherited, **PYTEST, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8", **home}


def commands(body: str) -> Iterator[tuple[str, str]]:
    """(command, the output shown below it) of a console block; continued lines begin with ``> ``."""
    lines = body.splitlines(keepends=True)
    assert lines[0].startswith("$ "), f"a console block begins with a command: {lines[0]}"
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        until = start + 1
        while until < end and lines[until].startswith("> ") and lines[until - 1].endswith("\\\n"):
            until += 1
        yield "".join(lines[start:until]).removeprefix("$ ").rstrip("\n"), "".join(lines[until:end])


def agreed(shown: str, printed: str) -> str:
    """What is shown if it says what was printed, otherwise what was printed; durations do not count."""
    pattern = "".join(
        "(?:.*\n)*" if line == ANY_LINES else re.escape(line) + "\n" for line in _timeless(shown).splitlines()
    )
    assert "Traceback (most recent call last)" not in printed, printed
    return shown if re.fullmatch(pattern, _timeless(printed)) else _timeless(printed)


def _timeless(text: str) -> str:
    return SECONDS.sub("in 0.01s", text)


def _free_port(document: str) -> int:
    """As many digits as ``PORT`` has, so that tables in outputs stay aligned when it is put in; no number that the
    document shows, as ``PORT`` is shown in its place."""
    for port in random.sample([port for port in range(1024, 10000) if str(port) not in document], 1000):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
    raise OSError("no port of four digits is free")


def _fake_kubectl(folder: Path) -> None:
    """A ``kubectl`` that prints the example cluster, web-3 pending in it, as ``kubectl get … -o json`` would."""
    texts = [(POLICY_EXAMPLES / name).read_text(encoding="utf-8") for name in EXAMPLES]
    items = [item for text in texts for item in yaml.safe_load_all(text)]
    for item in items:
        item["metadata"]["uid"] = f"{item['kind']}-{item['metadata']['name']}"
    folder.mkdir()
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    (folder / "list.json").write_text(json.dumps(listed), encoding="utf-8")
    kubectl = folder / "kubectl"
    kubectl.write_text(f'#!/bin/sh\ncat "{folder}/list.json"\n', encoding="utf-8")
    kubectl.chmod(0o755)


# --- the decisions of policy_examples --------------------------------------------------------

PROVIDERS = ("DefaultProvider", "ClusterAutoscalerProvider")
POLICIES = ("classic-default.json", "parameterised.yaml", "bin-packing.json", "spread-first.toml", "extenders.json")
CONFIGS = {"bin-packing-1.36.yaml": "1.36", "racks-1.20.yaml": "1.20"}
"""KubeSchedulerConfiguration → the release it is for."""

WITH_EXTENDER = "extenders.json"


def example_names() -> list[str]:
    return [*PROVIDERS, *POLICIES, *CONFIGS]


def expected_file(name: str) -> Path:
    """Where the decision of a provider, policy or configuration is kept."""
    return POLICY_EXAMPLES / "expected" / f"{name if name in PROVIDERS else Path(name).stem}.txt"


def example_decision(name: str, folder: Path) -> str:
    """What is printed; ``folder`` is for a copy of the policy with the extender's true port."""
    if name in PROVIDERS:
        return _schedule("--algorithm-provider", name)
    if name in CONFIGS:
        return _schedule("--release", CONFIGS[name], "--config", str(POLICY_EXAMPLES / name))
    if name != WITH_EXTENDER:
        return _schedule("--policy-config-file", str(POLICY_EXAMPLES / name))
    with _extender() as port:
        copy = folder / name
        copy.write_text(
            (POLICY_EXAMPLES / name).read_text(encoding="utf-8").replace(str(PORT), str(port)), encoding="utf-8"
        )
        return _schedule("--policy-config-file", str(copy)).replace(str(port), str(PORT))


@contextmanager
def _extender() -> Iterator[int]:
    """``policy_examples/extender.py`` as a process; its port."""
    process = subprocess.Popen(
        [sys.executable, str(POLICY_EXAMPLES / "extender.py"), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rsplit(":", 1)[1])
    finally:
        process.terminate()
        process.communicate()


def _schedule(*options: str) -> str:
    program = shutil.which("kubescheduler", path=str(Path(sys.executable).parent))
    assert program is not None, "kubescheduler is not installed beside this Python; run pip install -e ."
    files = [str(POLICY_EXAMPLES / "cluster.yaml"), "--pod", str(POLICY_EXAMPLES / "pod.yaml")]
    done = subprocess.run(
        [program, "schedule", *files, *options, "--explain"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr
    return done.stdout
