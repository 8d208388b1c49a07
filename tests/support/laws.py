"""How laws run: the settings of hypothesis, and ``--laws N``."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings

# Not Phase.explain: it traces every line, and CPython 3.11 was seen to loop for ever under its tracing.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.target, Phase.shrink)
EXAMPLES = 25
"""Of a law that does not say how many. ``./check --laws N`` draws N times as many of each law: the one knob."""
COSTLY = 10
"""Of a law that is ``@costly``: its examples take more than some 20 ms each."""
settings.register_profile("local", deadline=None, max_examples=EXAMPLES, phases=PHASES)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=EXAMPLES,
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci" if os.environ.get("CI") else "local")
costly = settings(max_examples=COSTLY)
"""Marks a law whose examples take long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--laws N``, which ``./check --laws N`` passes on."""
    parser.addoption("--laws", type=int, metavar="N", help="only the laws, each with N times its examples")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--laws N`` only the laws are left."""
    times: int | None = config.getoption("--laws")
    if times is None:
        return
    laws = [item for item in items if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)]
    for law in {law.obj.__func__ if hasattr(law.obj, "__func__") else law.obj: law for law in laws}.values():
        multiply_examples(law, times)
    config.hook.pytest_deselected(items=[item for item in items if item not in laws])
    items[:] = laws


def multiply_examples(law: pytest.Function, times: int) -> None:
    """Lets a law run so many times the examples that it has otherwise."""
    # hypothesis lets nobody change the settings of a decorated test, so these are its own attributes.
    machine = law.cls is not None and hasattr(law.cls, "settings")
    holder, name = (law.cls, "settings") if machine else (law.obj, "_hypothesis_internal_use_settings")
    given: settings = getattr(holder, name, None) or settings()
    setattr(holder, name, settings(given, max_examples=given.max_examples * times))
