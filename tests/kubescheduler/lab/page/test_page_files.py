"""The files of the lab's page: what they hold, what they may not, what the first look at them weighs."""

from __future__ import annotations

import gzip
import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescheduler.lab import PAGE

VENDOR = PAGE / "vendor"
LIBRARIES = tomllib.loads((VENDOR / "vendor.toml").read_text(encoding="utf-8"))["library"]
OWN = sorted(path for path in PAGE.rglob("*.js") if VENDOR not in path.parents)
STYLES = sorted((PAGE / "style").glob("*.css"))
FIRST_SCREEN = "screens/cluster.js"
LIMIT = 60_000
"""Bytes, compressed, of what is loaded before the first screen can be used."""

STATIC = re.compile(r"""^(?:import|export)\s(?:[^;"'=]*?\sfrom\s+)?"([^"]+)";|\bfrom"([^"]+)\"""", re.MULTILINE)
DYNAMIC = re.compile(r"""\bimport\(([^)]*)\)""")
LINKED = re.compile(r"""(?:href|src)="([^"]+)\"""")
SHEET = re.compile(r"""useSheet\(["']([^"']+)["']\)""")

FORBIDDEN = {
    "markup from text": r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|DOMParser",
    "code from text": r"\beval\(|new Function|setTimeout\(\s*[\"'`]|javascript:",
    "an address elsewhere": r"https?://|[\"'`(]//\w",
    "a message on the console": r"\bconsole\.|\bdebugger\b|\balert\(",
    "a style in the markup": r"style=\"",
}


def relative(path: Path) -> str:
    return path.relative_to(PAGE).as_posix()


def imported(path: Path) -> Iterator[Path]:
    """What a module imports at once."""
    for spaced, minified in STATIC.findall(path.read_text(encoding="utf-8")):
        name = spaced or minified
        assert name.startswith("."), f"{relative(path)} imports {name}"
        yield (path.parent / name).resolve()


def loaded(first: list[Path]) -> set[Path]:
    """Those files and all that they import at once."""
    found: set[Path] = set()
    waiting = list(first)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported(path) if path.suffix == ".js" else ()
    return found


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: str(library["file"]))
def test_a_library_is_the_one_that_was_looked_at(library: dict[str, str]) -> None:
    """Each file of other people's work has its name, version, source, licence in full, and hash."""
    assert hashlib.sha256((VENDOR / library["file"]).read_bytes()).hexdigest() == library["sha256"]
    assert all(library[key] for key in ("name", "version", "source", "changed", "licence"))
    assert re.search("copyright", (VENDOR / library["licence-file"]).read_text(encoding="utf-8"), re.IGNORECASE)


def test_no_library_is_unlisted() -> None:
    """Whatever lies in the folder is in the list."""
    listed = {library["file"] for library in LIBRARIES}
    assert {path.name for path in VENDOR.iterdir() if path.suffix in {".js", ".css"}} == listed
    licences = {library["licence-file"] for library in LIBRARIES}
    assert {path.relative_to(VENDOR).as_posix() for path in (VENDOR / "licences").iterdir()} == licences


@pytest.mark.parametrize("what", FORBIDDEN)
def test_own_files_hold_nothing_forbidden(what: str) -> None:
    """No markup or code made from text, no address elsewhere, nothing on the console."""
    allowed = 'xmlns="http://www.w3.org/2000/svg"'
    files = [*OWN, *STYLES, PAGE / "index.html", *(PAGE / "style").glob("*.svg")]
    for path in files:
        text = path.read_text(encoding="utf-8").replace(allowed, "")
        assert re.findall(FORBIDDEN[what], text) == [], relative(path)


def test_index_has_no_script_and_no_style_in_it() -> None:
    """The policy default-src 'self' refuses both."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>([^<]+)</script>|<style|\son\w+=", text) == []


def test_what_modules_import_exists() -> None:
    """Every import, at once or later, and every stylesheet is a file; what is loaded later is a literal."""
    for path in OWN:
        text = path.read_text(encoding="utf-8")
        assert [target for target in imported(path) if not target.is_file()] == [], path
        for argument in DYNAMIC.findall(text):
            assert re.fullmatch(r"\"\.{1,2}/[\w./-]+\.js\"", argument), (path, argument)
            assert (path.parent / argument.strip('"')).resolve().is_file(), (path, argument)
        assert [name for name in SHEET.findall(text) if not (PAGE / name).is_file()] == [], path


def test_no_module_is_left_unused() -> None:
    """Each module is loaded by index.html, or from one that is, at once or later."""
    reached = {(PAGE / name).resolve() for name in LINKED.findall((PAGE / "index.html").read_text(encoding="utf-8"))}
    waiting = [path for path in reached if path.suffix == ".js"]
    while waiting:
        path = waiting.pop()
        later = {
            (path.parent / name.strip('"')).resolve() for name in DYNAMIC.findall(path.read_text(encoding="utf-8"))
        }
        new = ({*imported(path)} | later) - reached
        reached |= new
        waiting += new
    assert [relative(path) for path in OWN if path not in reached] == []


def test_first_load_is_small() -> None:
    """Markup, styles, modules and the first screen, each compressed by itself as a server would."""
    index = PAGE / "index.html"
    linked = [(PAGE / name).resolve() for name in LINKED.findall(index.read_text(encoding="utf-8"))]
    files = loaded([*linked, PAGE / FIRST_SCREEN])
    sheets = {PAGE / name for path in files for name in SHEET.findall(path.read_text(encoding="utf-8"))}
    total = sum(len(gzip.compress(path.read_bytes(), mtime=0)) for path in {index, *files, *sheets})
    assert total < LIMIT
