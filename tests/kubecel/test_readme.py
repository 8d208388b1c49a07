from __future__ import annotations

import re
from pathlib import Path

import kubecel

SHOWN = re.compile(r"^(program\..*?) {2,}# (.*)$", re.MULTILINE)


def test_the_example_gives_what_it_says() -> None:
    """Each line of the README's example, and what stands behind it."""
    text = Path(kubecel.__file__).with_name("README.md").read_text(encoding="utf-8")
    code = text.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(code, names)
    shown = SHOWN.findall(code)
    assert len(shown) == 3
    for expression, value in shown:
        wanted = value.partition(":")[0]
        assert eval(expression, names) == eval(wanted, names), expression
