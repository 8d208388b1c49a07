"""The image of deploy/Containerfile, as far as that can be told without a tool that builds images.

Its sources are there; a folder with nothing but the wheel and what the extra ``live`` requires runs its entry point, as
somebody without rights, on a file system that cannot be written to but for one folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml
from packaging.requirements import Requirement

from benchmarks.structure import ROOT
from kubescheduler.releases.lookup import recorded_processes
from tests.support.apiserver import FrontServer
from tests.support.live.live_cluster import NODES, PODS, a_node, a_pod
from tests.support.live.rights import Stage, stages_of

CONTAINERFILE = ROOT / "deploy" / "Containerfile"
SECONDS = 60.0
READ_ONLY = '''
"""Refuses what a read-only file system refuses: to write anywhere but below $WRITABLE and to devices."""

import errno
import os
import sys

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = {"os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.link", "os.symlink", "os.chmod", "os.truncate"}
PLACES = (os.environ["WRITABLE"], "/dev/", "/proc/self/fd/")


def refuse(event, args):
    if event in CHANGING or (event == "open" and args[2] & WRITING):
        path = args[0]
        if not isinstance(path, int) and not os.path.abspath(os.fsdecode(path)).startswith(PLACES):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)


sys.addaudithook(refuse)
'''


@pytest.fixture(scope="module")
def stages() -> list[Stage]:
    """What is built, and what of it is kept."""
    return stages_of(CONTAINERFILE)


def context() -> list[Path]:
    """The files that are sent to who builds: those of the repository but for what .dockerignore names."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout: nobody knows what belongs to it")
    ignored = [line.removeprefix("**/") for line in (ROOT / ".dockerignore").read_text().split()]
    files = [Path(name) for name in listed.stdout.split("\0") if name]
    return [file for file in files if not any(fnmatch(part, rule) for part in file.parts for rule in ignored)]


# --- the file ------------------------------------------------------------------------------------------


def test_sources_are_there(stages: list[Stage]) -> None:
    """What is copied is in the context, or was made by an earlier stage."""
    sent = {str(file) for file in context()}
    made: dict[str, list[str]] = {}
    for stage in stages:
        for copy in stage.all("COPY"):
            *sources, _ = copy.operands
            for source in sources:
                if "from" in copy.flags:
                    assert any(source in command for command in made[copy.flags["from"]]), source
                else:
                    assert source == "." or any(name == source or name.startswith(f"{source}/") for name in sent)
        made[stage.name] = [" ".join(run.words) for run in stage.all("RUN")]
    assert {"setup.py", "setup.cfg", "pyproject.toml", "README.md"} <= sent
    assert not [name for name in sent if name.startswith(("tests/", ".git/"))]


def test_the_last_stage(stages: list[Stage]) -> None:
    """It runs as nobody in particular, where the manifests say so, too, and starts what was copied into it."""
    last = stages[-1]
    (user,), (folder,), (entry,) = (last.all(name) for name in ("USER", "WORKDIR", "ENTRYPOINT"))
    security = yaml.safe_load((ROOT / "deploy/base/deployment.yaml").read_text())["spec"]["template"]["spec"]
    numbers = security["securityContext"]
    assert user.words == (f"{numbers['runAsUser']}:{numbers['runAsGroup']}",)
    assert numbers["runAsNonRoot"] is True
    assert numbers["runAsUser"] > 0
    (container,) = security["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert folder.words[0] in [mount["mountPath"] for mount in container["volumeMounts"]]
    (copy,) = last.all("COPY")
    assert entry.words == (f"{copy.operands[-1]}/bin/kubescheduler",)
    assert {stage.image for stage in stages} == {last.image}
    assert not last.all("RUN")


def test_only_the_extra_live_is_installed(stages: list[Stage]) -> None:
    """Nothing for development is in the image."""
    (run,) = stages[0].all("RUN")
    assert run.words[-1] == f"{stages[0].all('COPY')[0].operands[-1]}[live]"


# --- what it runs --------------------------------------------------------------------------------------


def required(name: str, extras: frozenset[str], seen: dict[str, frozenset[str]]) -> None:
    """Adds a distribution and all that it requires to ``seen``."""
    if extras <= seen.get(name, frozenset({""})) and name in seen:
        return
    seen[name] = seen.get(name, frozenset()) | extras
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        chosen = [{"extra": extra} for extra in (*seen[name], "")]
        if requirement.marker is None or any(requirement.marker.evaluate(one) for one in chosen):
            required(requirement.name.lower().replace("_", "-"), frozenset(requirement.extras), seen)


@attrs.frozen
class Image:
    """The folder of the image, and how its entry point is run."""

    folder: Path
    python: str

    @property
    def entry(self) -> Path:
        """The command."""
        return self.folder / "venv" / "bin" / "kubescheduler"

    @property
    def writable(self) -> Path:
        """The one folder that can be written to."""
        return self.folder / "tmp"

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Runs the entry point as nobody in particular, if we may."""
        switched: dict[str, Any] = {"user": 65532, "group": 65532, "extra_groups": []} if os.geteuid() == 0 else {}
        environment = {"PATH": "/usr/bin:/bin", "HOME": "/", "TMPDIR": str(self.writable)}
        return subprocess.Popen(
            [str(self.entry), *arguments],
            cwd=self.writable,
            env={**environment, "WRITABLE": str(self.writable)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **switched,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        """(exit status, output)."""
        process = self.start(*arguments)
        text, _ = process.communicate(timeout=SECONDS)
        return process.returncode, text


def interpreter() -> str:
    """A Python of our version that everybody may run."""
    version = "python{}.{}".format(*sys.version_info)
    for found in (os.path.realpath(sys.executable), f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        path = Path(found)
        if path.exists() and (os.geteuid() or all(parent.stat().st_mode & 1 for parent in path.parents)):
            return found
    pytest.skip(f"there is no {version} that everybody may run")


def wheel(folder: Path) -> Path:
    """Builds the context as the first stage does."""
    for file in context():
        target = folder / "src" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, target)
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps")
    built = subprocess.run([*pip, "-w", folder / "wheels", folder / "src"], capture_output=True, text=True, check=False)
    if built.returncode and "No matching distribution found for setuptools" in built.stderr:
        pytest.skip("there is no package index to build with")
    assert built.returncode == 0, built.stderr
    (found,) = (folder / "wheels").iterdir()
    return found


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The wheel and the distributions that it requires with the extra ``live``, and no others."""
    folder = Path(tempfile.mkdtemp(prefix="image-"))
    try:
        made = Image(folder, interpreter())
        folder.chmod(0o755)
        subprocess.run([made.python, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        pip = (sys.executable, "-m", "pip", "--python", str(folder / "venv/bin/python"), "install", "-q")
        subprocess.run([*pip, "--no-index", "--no-deps", wheel(folder)], check=True)
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        names: dict[str, frozenset[str]] = {}
        required("kubescheduler", frozenset({"live"}), names)
        for name in names.keys() - {"kubescheduler"}:
            copy_distribution(name, packages)
        (packages / "read_only.py").write_text(READ_ONLY)
        (packages / "read_only.pth").write_text("import read_only\n")
        made.writable.mkdir()
        made.writable.chmod(0o777)
        yield made
    finally:
        shutil.rmtree(folder)


def copy_distribution(name: str, packages: Path) -> None:
    """What was installed of a distribution."""
    for file in distribution(name).files or ():
        source = Path(str(file.locate()))
        if ".." not in file.parts and source.exists():
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def test_nothing_else_is_needed(image: Image) -> None:
    """The entry point answers, and each release's flags can be listed."""
    status, text = image.run("--version")
    assert (status, text.split()[0]) == (0, "kubescheduler")
    for release in recorded_processes():
        status, text = image.run("run", "--release", release, "--", "--help")
        assert status == 0, text
        assert "--leader-elect" in text


def test_the_file_system_is_read_only(image: Image) -> None:
    """What stands in for the read-only root refuses to write outside of the one folder."""
    (image.writable / "policy.py").write_text("open('/tmp/elsewhere-of-the-image', 'w')\n")
    python = image.entry.parent / "python"
    done = subprocess.run(
        [python, image.writable / "policy.py"],
        capture_output=True,
        text=True,
        env={"WRITABLE": str(image.writable)},
        check=False,
    )
    assert "Read-only file system" in done.stderr


def test_it_schedules(image: Image, api_server: FrontServer) -> None:
    """It serves, leads, binds a pod and ends cleanly, and has nothing to complain of."""
    api_server.storage.create(NODES, "", a_node("n1"))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    flags = ("--master", api_server.url, "--secure-port", str(port), "--bind-address", "127.0.0.1")
    process = image.start("run", "--release", "1.36", "--", *flags)
    try:
        api_server.storage.create(PODS, "default", a_pod("web"))
        end = time.monotonic() + SECONDS
        while not api_server.storage.get(PODS, "default", "web")["spec"].get("nodeName"):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < end
        anybody = ssl.create_default_context()
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/healthz", context=anybody, timeout=20) as answer:
            assert answer.read() == b"ok"
        if os.geteuid() == 0:
            assert Path(f"/proc/{process.pid}").stat().st_uid == 65532
    finally:
        process.send_signal(signal.SIGTERM)
        text, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, text
    assert "Traceback" not in text
    assert "Read-only" not in text
