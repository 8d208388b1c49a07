"""The lab's page as one HTML document: its modules and stylesheets written into it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

PREFIX = "lab/"
"""What modules call each other by in the document."""
LEFT_OUT = frozenset({"vendor/codemirror.js"})
"""Modules that a replay can do without: nothing is edited in one, so texts are shown as plain fields."""

_IMPORTED = re.compile(r"""(\bfrom\s*|\bimport\s*\(?\s*)"(\.{1,2}/[^"]+\.js)\"""")
_SHEET = re.compile(r'<link rel="stylesheet" href="([^"]+)">\n?')
_ICON = re.compile(r'<link rel="icon" href="([^"]+)">')
_ENTRY = re.compile(r'<script type="module" src="([^"]+)"></script>')


def page_files() -> dict[str, str]:
    """Path in the page → text, of the modules, stylesheets, pictures and the document itself."""
    found: dict[str, str] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for each in sorted(folder.iterdir(), key=lambda each: each.name):
            path = f"{prefix}{each.name}"
            if each.is_dir():
                walk(each, f"{path}/")
            elif path.endswith((".js", ".css", ".svg", ".html")) and path not in LEFT_OUT:
                found[path] = each.read_text(encoding="utf-8")

    walk(resources.files("kubescheduler.lab.page"), "")
    return found


def bare_imports(path: str, text: str) -> str:
    """A module with the relative names of the modules that it imports made absolute ones, as ``lab/store.js``."""
    folder = posixpath.dirname(path)

    def bare(match: re.Match[str]) -> str:
        return f'{match[1]}"{PREFIX}{posixpath.normpath(posixpath.join(folder, match[2]))}"'

    return _IMPORTED.sub(bare, text)


def data_address(media_type: str, text: str) -> str:
    """A ``data:`` address that holds a text."""
    return f"data:{media_type};base64,{base64.b64encode(text.encode()).decode()}"


@cache
def page_parts() -> tuple[str, str]:
    """The document up to the answers, and the rest of it."""
    files = page_files()
    index = files["index.html"]
    modules = {
        f"{PREFIX}{path}": data_address("text/javascript", bare_imports(path, text))
        for path, text in files.items()
        if path.endswith(".js")
    }
    entry = _ENTRY.search(index)
    assert entry is not None
    import_map = json.dumps({"imports": modules}, separators=(",", ":"))
    start = f'import "{PREFIX}{entry[1]}";'
    icon = _ICON.search(index)
    head = "\n".join(
        [
            _policy(import_map, start),
            *([f'<link rel="icon" href="{data_address("image/svg+xml", files[icon[1]])}">'] if icon else []),
            *(
                f'<style data-sheet="{html.escape(path)}">\n{text}</style>'
                for path, text in _sheets(files, index)
                if "</style" not in text.lower()
            ),
            f'<script type="importmap">{import_map}</script>',
        ]
    )
    document = _SHEET.sub("", _ICON.sub("", _ENTRY.sub("", index)))
    before, after = document.replace("</head>", f"{head}\n</head>").split("</body>")
    return before, f'<script type="module">{start}</script>\n</body>{after}'


def _sheets(files: dict[str, str], index: str) -> list[tuple[str, str]]:
    """The stylesheets: those of the document in its order, then those of screens."""
    first = _SHEET.findall(index)
    rest = [path for path in files if path.endswith(".css") and path not in first]
    return [(path, files[path]) for path in (*first, *rest)]


def _policy(*scripts: str) -> str:
    """A policy that lets these scripts, modules in the document and its own styles pass, and no request at all."""
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    policy = f"default-src 'none'; script-src {hashes} data:; style-src 'unsafe-inline'; img-src data:"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def replay_document(answers: dict[str, Any]) -> str:
    """The page with its answers. answers: a question as the page writes it → what the scene says."""
    before, after = page_parts()
    kept = json.dumps(answers, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'{before}<script type="application/json" id="replay">{kept}</script>\n{after}'
