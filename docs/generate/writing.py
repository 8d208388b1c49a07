"""Small pieces of Markdown that the generated parts of the reference share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any


def text_blocks(text: str) -> str:
    """Indented formulas as blocks."""
    return re.sub(r"(?m)(^    .+\n?)+", lambda m: "```text\n" + inspect.cleandoc(m[0]) + "\n```\n", text.strip())


def cell(text: str) -> str:
    """In a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code_link(factory: Callable[..., Any]) -> str:
    """Where a rule or plugin is written."""
    path = factory.__module__.replace(".", "/") + ".py"
    return f"[`{path}`](../../{path})"
