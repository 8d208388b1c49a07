"""The files that a case of a sweep needs: their digests, and their way to a machine that does not have them."""

from __future__ import annotations

import hashlib
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kubescheduler.sources.files import EXTENSIONS, is_special
from kubescheduler.sources.manifest_texts import COMPRESSED

Contents = Mapping[str, bytes]
"""A file's name as the user gave it → its bytes, compressed."""


def is_manifest(path: Path) -> bool:
    """Whether a folder's reader takes this file."""
    return path.name.removesuffix(COMPRESSED).endswith(EXTENSIONS) and not path.name.startswith(".")


def manifests(path: str) -> tuple[str, ...]:
    """The manifests below a folder in the order in which they are read; of a file the file itself."""
    folder = Path(path)
    if not folder.is_dir():
        return (path,)
    hidden = {below for below in folder.rglob(".*") if below.is_dir()}
    found = (
        file
        for file in folder.rglob("*")
        if is_manifest(file) and not is_special(file) and not hidden.intersection(file.parents)
    )
    return tuple(sorted(map(str, found)))


def digest_of(files: Iterable[str]) -> str:
    """A SHA-256 of the contents of files, in their order. Of a file that cannot be read its last name counts."""
    whole = hashlib.sha256()
    for name in files:
        try:
            part = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        except OSError:
            part = f"unreadable {Path(name).name}"
        whole.update(f"{part}\n".encode())
    return whole.hexdigest()


def packed(files: Iterable[str]) -> dict[str, bytes]:
    """The contents of files, to be sent. Those that cannot be read are left out."""
    out = {}
    for name in files:
        try:
            out[name] = zlib.compress(Path(name).read_bytes(), level=1)
        except OSError:
            continue
    return out


class FileLocations(msgspec.Struct, frozen=True):
    """Where files are on this machine."""

    paths: Mapping[str, str]
    """The name as given → path; empty: every file is where its name says."""

    def path(self, name: str) -> str:
        """Where the file of this name is."""
        return self.paths.get(name, name)

    def by_given_names(self, text: str) -> str:
        """A text with the files by the names that the user gave them."""
        for name, path in self.paths.items():
            text = text.replace(path, name)
        return text


@contextmanager
def placed(contents: Contents | None, files: Iterable[str]) -> Iterator[FileLocations]:
    """Puts files where they can be read by path, until the end. contents: None: they are where their names say."""
    if contents is None:
        yield FileLocations({})
        return
    with tempfile.TemporaryDirectory(prefix="kubescheduler-sweep-") as folder:
        paths = {name: Path(folder, str(at), Path(name).name) for at, name in enumerate(files)}
        for name, path in paths.items():
            path.parent.mkdir()
            if name in contents:
                path.write_bytes(zlib.decompress(contents[name]))
        yield FileLocations({name: str(path) for name, path in paths.items()})
