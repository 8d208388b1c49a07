"""What shells complete, asked as a shell asks."""

from __future__ import annotations

import pytest

from tests.kubescheduler.cli.conftest import in_a_process


def completed(*words: str) -> list[str]:
    """What bash gets for the last of the words."""
    environment = {
        "_KUBESCHEDULER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("kubescheduler", *words)),
        "COMP_CWORD": str(len(words)),
    }
    outcome = in_a_process(env=environment)
    return [line.partition(",")[2] for line in outcome.out.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            ("schedule", "--algorithm-provider", "Cl"), ["ClusterAutoscalerProvider"], id="providers of the default"
        ),
        pytest.param(("schedule", "--release", "1.36", "--algorithm-provider", "D"), [], id="1.36 has no providers"),
        pytest.param(("schedule", "--feature-gates", "EvenPods"), ["EvenPodsSpread="], id="gates"),
        pytest.param(
            ("schedule", "--feature-gates", "TaintNodesByCondition=false,EvenPodsSpread="),
            ["TaintNodesByCondition=false,EvenPodsSpread=true", "TaintNodesByCondition=false,EvenPodsSpread=false"],
            id="values of a gate",
        ),
        pytest.param(("compare", "--old", "rel"), ["release="], id="keys of a scheduler"),
        pytest.param(("compare", "--new", "release=1.3"), ["release=1.36"], id="releases"),
        pytest.param(
            ("sweep", "--config-spec", "release=1.16,provider=C"),
            ["release=1.16,provider=ClusterAutoscalerProvider"],
            id="providers of the release that stands there",
        ),
        pytest.param(("explain", "PodFitsR"), ["PodFitsResources"], id="predicates"),
        pytest.param(("explain", "LeastR"), ["LeastRequestedPriority"], id="priorities"),
        pytest.param(("explain", "NodeResourcesF"), ["NodeResourcesFit"], id="plugins"),
        pytest.param(("ex",), ["explain"], id="commands"),
        pytest.param(("schedule", "--to"), ["--top"], id="options"),
    ],
)
def test_completions(words: tuple[str, ...], expected: list[str]) -> None:
    """Those that begin like what stands there, and no others."""
    assert completed(*words) == expected
