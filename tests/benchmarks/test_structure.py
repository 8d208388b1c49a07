"""What counts of the source find, and that those which reached their aim stay there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.structure import AT_THEIR_AIM, COUNTS, ROOT, SourceFile, records_of, source_files

LONG = "\n".join(["    x = 1"] * 81)


OF_THE_PRODUCT = ("class names that occur twice", "public without docstring")
"""What is not asked of tools and of the pages' examples."""
OF_TESTS_TOO = ("circles among siblings", "functions over 80 lines")
"""What is asked of tests and their helpers as well."""


@pytest.fixture(scope="module")
def product() -> list[SourceFile]:
    """The files of the packages."""
    return source_files()


def test_what_reached_its_aim_stays(product: list[SourceFile]) -> None:
    """No circle, no question for the release, nothing too long, nothing public without a docstring."""
    tools, tests = (source_files(folders) for folders in (("benchmarks", "docs"), ("tests",)))
    assert len(product) > len(tests) // 2 > len(tools) > 0
    found = {}
    for title in AT_THEIR_AIM:
        files = product if title in OF_THE_PRODUCT else product + tools
        found[title] = list(COUNTS[title](files + tests if title in OF_TESTS_TOO else files))
    assert found == {title: [] for title in AT_THEIR_AIM}


CASES_COUNTS: dict[str, Any] = {
    "circle by way of others": (
        "circles among siblings",
        {"p/a.py": "from p import b", "p/b.py": "from p.c import x", "p/c.py": "import p.a", "p/d.py": "import p.a"},
        ["p: a <-> b", "p: a <-> c", "p: b <-> c"],
    ),
    "circle for type checking, by a package": (
        "circles among siblings",
        {
            "p/a.py": "from __future__ import annotations\nif TYPE_CHECKING:\n    from p.b.c import X",
            "p/b/c.py": "from p.a import Y",
        },
        ["p: a <-> b"],
    ),
    "no circle": (
        "circles among siblings",
        {"p/__init__.py": "from p.a import X", "p/a.py": "import p.b", "p/b.py": "import attrs"},
        [],
    ),
    "literals": (
        "comparisons with a release",
        {"p/a.py": 'a = r == "1.20"\nb = r in ("1.4", "1.16")\nc = r == "2.0"\nd = x["1.20"]'},
        ["p/a.py:1 r == '1.20'", "p/a.py:2 r in ('1.4', '1.16')"],
    ),
    "constant of another module": (
        "comparisons with a release",
        {"p/a.py": 'OLD = "1.4"\nBOTH = frozenset({"1.20", OLD})', "p/b.py": "from p.a import BOTH\na = r in BOTH"},
        ["p/b.py:2 r in BOTH"],
    ),
    "the names of the releases": (
        "comparisons with a release",
        {
            "kubescheduler/releases/names.py": 'NAMES = ("1.4", "1.16")',
            "p/b.py": "from kubescheduler.releases.names import NAMES\na = r in NAMES",
        },
        [],
    ),
    "match": (
        "comparisons with a release",
        {"p/a.py": 'match r:\n    case "1.4":\n        pass'},
        ["p/a.py:2 case '1.4'"],
    ),
    "records may ask for the release": (
        "comparisons with a release",
        {"kubescheduler/releases/v1_4.py": 'a = r == "1.20"'},
        [],
    ),
    "tables": (
        "tables per release",
        {
            "p/a.py": 'x = {"1.4": 1, "1.16": 2}\ny = {"1.4": 1}',
            "kubescheduler/releases/v1_20.py": 'x = {"1.4": 1, "1.16": 2}',
        },
        ["p/a.py:1 {1.4, 1.16}"],
    ),
    "basenames": (
        "basenames that occur twice",
        {"p/__init__.py": "", "p/q/__init__.py": "", "p/q/a.py": "", "p/a.py": "", "kubescheduler/cli/a.py": ""},
        ["a.py: p/a.py, p/q/a.py"],
    ),
    "classes": (
        "class names that occur twice",
        {"p/a.py": "class A: pass\nclass _B: pass", "p/b.py": "class A: pass\nclass _B: pass"},
        ["A: p/a.py, p/b.py"],
    ),
    "functions": (
        "functions that occur twice",
        {
            "p/a.py": "class A:\n    def f(self):\n        a()\n        b()\n        return c",
            "p/b.py": 'def g():\n    """G."""\n    a()\n    b()\n    return c\ndef h():\n    return c',
            "p/c.py": "def i():\n    return c",
        },
        ["p/a.py:2 f, p/b.py:1 g"],
    ),
    "protocols": (
        "protocols",
        {"p/a.py": "class A(Protocol[T]): pass\nclass B(A): pass\nclass C(asyncio.Protocol): pass"},
        ["p/a.py:1 A"],
    ),
    "docstrings": (
        "public without docstring",
        {
            "p/a.py": 'class A:\n    """A."""\n    def b(self): pass\n    def _c(self): pass\ndef d(): pass',
            "p/b.py": 'class _B:\n    def e(self):\n        """E."""\nclass _C(_B): pass',
            "p/c.py": 'class C(b._C):\n    """C."""\n    def e(self): pass\n    def f(self): pass',
        },
        ["p/a.py:3 A.b", "p/a.py:5 d", "p/c.py:4 C.f"],
    ),
    "long function": ("functions over 80 lines", {"p/a.py": f"def f():\n{LONG}"}, ["p/a.py:1 f: 82 lines"]),
}


@pytest.mark.parametrize(("title", "texts", "found"), CASES_COUNTS.values(), ids=CASES_COUNTS)
def test_counts(title: str, texts: dict[str, str], found: list[str], tmp_path: Path) -> None:
    """Each count names every place, and no other."""
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    files = source_files(tuple({name.partition("/")[0] for name in texts}), tmp_path)
    assert list(COUNTS[title](files)) == found


@pytest.mark.parametrize("release", ["1.16", "1.36"])
def test_the_way_of_a_decision(release: str) -> None:
    """It begins where a scheduler is asked and passes through core; a climb is between files that it walks through.
    In a process of its own: what other tests imported or left to a profiler is not walked through."""
    asked = f"print(json.dumps(way_of_a_decision({release!r})))"
    script = f"import json; from benchmarks.structure import way_of_a_decision; {asked}"
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    files, climbs = json.loads(ran.stdout)
    assert files[0] == "kubescheduler/api/scheduler.py"
    assert "kubescheduler/core/attempt.py" in files
    assert {path for climb in climbs for path in climb.split()[:3:2]} <= set(files)
    assert "Release" in records_of(release)
