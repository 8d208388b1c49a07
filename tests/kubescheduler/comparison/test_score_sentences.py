"""Terms of a comparison with what their scores were made of."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from clusterstate.objects import ClusterObject
from kubescheduler.comparison.comparing import compare
from kubescheduler.comparison.outcomes import Contribution
from kubescheduler.engine.spec import EngineSpec
from tests.support.comparisons import GIB, Policies, node, pod

FULLER: list[ClusterObject] = [node("n1"), node("n2"), pod("there", 2000, 4 * GIB, on="n1")]


def products(sentences: tuple[tuple[str, str], ...]) -> list[tuple[int, int]]:
    """The last number of each sentence: weight times score."""
    return [(int(one.split(": ")[-1]), int(other.split(": ")[-1])) for one, other in sentences]


@pytest.mark.parametrize("mode", ["independent", "sequence"])
@pytest.mark.parametrize(("before", "after"), [("1.4", "1.16"), ("1.16", "1.20"), ("1.16", "1.36"), ("1.36", "1.16")])
def test_evidence_sums_to_the_terms(before: str, after: str, mode: str) -> None:
    """On each side the products of both hosts differ by what the term adds; terms of 0 on both sides have none."""
    cluster = [*FULLER, node("n3", 8000, 8 * GIB), node("n4", 2000, 16 * GIB)]
    pods = [pod(f"p{at}", 100 + 300 * at % 900, (at + 1) * GIB // 4) for at in range(12)]
    found = compare(cluster, pods, EngineSpec(before), [EngineSpec(after)], mode=mode, evidence=True)
    parts = [part for one in found.pods for part in one.changes[0].contributions]
    told = [part for part in parts if part.old_evidence or part.new_evidence]
    for part in told:
        for evidence, name, amount in (
            (part.old_evidence, part.old_name, part.old),
            (part.new_evidence, part.new_name, part.new),
        ):
            assert len(evidence) == (0 if name is None or amount is None else len(name.split(" + ")))
            if evidence:
                assert sum(new - old for old, new in products(evidence)) == amount
                assert [one.split(": ")[0] for one, _ in evidence] == (name or "").split(" + ")
    assert all(part in told for part in parts if part.old or part.new)
    assert told or not parts


def test_evidence_has_the_formula(tmp_path: Path) -> None:
    """With the numbers of each node filled in."""
    policies = Policies(tmp_path)
    old, new = policies.policy(LeastRequestedPriority=1), policies.policy(MostRequestedPriority=2)
    found = compare(FULLER, [pod("p")], old, [new], evidence=True)
    [part] = found.pods[0].changes[0].contributions
    [least], [most] = part.old_evidence, part.new_evidence
    assert all(re.fullmatch(r"LeastRequestedPriority: .*4000.* = \d+; times 1: \d+", text) for text in least)
    assert all(re.fullmatch(r"MostRequestedPriority: .*4000.* = \d+; times 2: \d+", text) for text in most)
    assert least[0] != least[1]


def test_evidence_is_not_worked_out_unasked() -> None:
    """It costs time, and is nothing but an addition."""
    specs = EngineSpec("1.16"), [EngineSpec("1.36")]
    plain, told = (compare(FULLER, [pod("p")], *specs, evidence=asked) for asked in (False, True))

    def bare(part: Contribution) -> Contribution:
        return msgspec.structs.replace(part, old_evidence=(), new_evidence=())

    before, after = (tuple(found.pods[0].changes[0].contributions) for found in (plain, told))
    assert before == tuple(map(bare, after))
