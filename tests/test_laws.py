"""``--laws N``: which tests run, and with how many examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.laws import EXAMPLES

LAWS = """
    from hypothesis import Phase, given, settings, strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, rule
    import pytest

    seen = {"plain": 0, "set": 0, "machine": 0}

    @given(st.integers())
    def test_plain_law(number):
        seen["plain"] += 1

    @pytest.mark.parametrize("case", [1])
    @settings(max_examples=7)
    @given(number=st.integers())
    def test_law_with_settings(case, number):
        seen["set"] += 1

    class Machine(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            seen["machine"] += 1

        @rule()
        def step(self):
            pass

    TestMachine = Machine.TestCase
    TestMachine.settings = settings(max_examples=5, stateful_step_count=1)

    def test_no_law():
        print(seen)
        assert Phase.explain not in settings().phases

    @given(st.integers())
    def test_says_how_often(number):
        seen["said"] = True

    def teardown_module():
        print(seen)
"""


@pytest.mark.parametrize(
    ("options", "passed", "examples"),
    [((), 5, (EXAMPLES, 7, 5)), (("--laws", "3"), 4, (3 * EXAMPLES, 21, 15))],
    ids=["as written", "three times"],
)
def test_laws_run_with_more_examples(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    passed: int,
    examples: tuple[int, int, int],
) -> None:
    """A plain law, one with settings of its own and a state machine; others run only without it."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makepyfile(LAWS)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take long to begin with
    ran = pytester.runpytest_subprocess("-s", "-p", "tests.support.laws", *options)
    ran.assert_outcomes(passed=passed, deselected=5 - passed)
    plain, own, machine = examples
    ran.stdout.fnmatch_lines([f"*'plain': {plain}, 'set': {own}, 'machine': {machine}, 'said': True*"])
