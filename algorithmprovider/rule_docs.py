"""What a rule does, in the words of its own docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

SOURCE = "Upstream:"
"""Where the part of a docstring begins that is for developers: the function and release that it is, shapes, errors."""


def rule_text(rule: Callable[..., Any]) -> str:
    """What a rule does, in Markdown, for people who configure a scheduler: its docstring up to ``Upstream:``.

    rule: the function or class registered under the rule's name. Empty without a docstring, as under ``python -OO``.
    """
    return inspect.cleandoc(rule.__doc__ or "").partition(SOURCE)[0].strip()
