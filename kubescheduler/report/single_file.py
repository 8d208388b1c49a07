"""A page as one HTML file that needs nothing else: no network, no server.

A content security policy lets nothing but these very styles and scripts take part.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from kubescheduler.sources.sanitize import escaped, json_shown

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Inside a JSON string the escape means the same; outside of strings none of them occurs."""

MARK = re.compile(r"\{\{ (\w+) \}\}")


def page(template: str, styles: Sequence[str], scripts: Sequence[str], parts: Mapping[str, str]) -> str:
    """A whole document of files beside this one. parts: what stands in the template's places, as HTML; its styles, its
    scripts and the policy that lets nothing else take part are filled in here."""
    style, ran = "".join(map(_asset, styles)), [_asset(name) for name in scripts]
    filled = {
        **parts,
        "policy": _policy(style, ran),
        "style": style,
        "scripts": "".join(f"<script>{script}</script>" for script in ran),
    }
    return escaped(MARK.sub(lambda mark: filled[mark[1]], _asset(template)))


def embedded(data: Any) -> str:
    """As JSON that can stand in a ``<script type="application/json">`` whatever names it holds."""
    text = msgspec.json.encode(data).decode()
    for character, written in UNSAFE.items():
        text = text.replace(character, written)
    return json_shown(text)


def _asset(name: str) -> str:
    """The text of a file beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Names the styles and scripts of this page by their digests; everything else is refused, addresses too."""
    runs = " ".join(_digest(script) for script in scripts) or "'none'"
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {runs}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
