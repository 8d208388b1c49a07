"""No kind of error lets a test pass that asserts on placements, whatever it expects."""

from __future__ import annotations

import re
import signal

import pytest

from tests.kubescheduler.testing.conftest import Project
from tests.support.custom.faulty_plugins import ADDRESS, KINDS, ErrorKind

ATTEMPTS = {name: kind for name, kind in KINDS.items() if kind.policy is not None and not kind.files}

BODIES = {
    "place": 'def test(scheduler): assert scheduler.place("web.yaml") == {"default/web": None}',
    "record": 'def test(scheduler, placements): placements.check(scheduler, "web.yaml")',
    "compare": 'def test(cluster): assert_same_placements(*["policy=policy.json"] * 2, cluster, "web.yaml")',
}


@pytest.mark.parametrize("kind", ATTEMPTS.values(), ids=ATTEMPTS)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_errors(shop: Project, address: str, kind: ErrorKind, body: str) -> None:
    """The test fails with the cause, and nothing is recorded."""
    kind.write(shop.path, address)
    shop.write("web.yaml", "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: web}]}}")
    shop.test(f'@pytest.mark.scheduler("policy=policy.json")\n{body}')
    done = shop.printed("--placements-update")
    outcomes = done.parseoutcomes()
    assert not outcomes.get("passed")
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == 1
    assert kind.text in str(done.stdout)
    assert not list(shop.path.rglob("*placements*/*"))
    assert ADDRESS not in str(done.stdout)


PLUGINS = ("-p", "no:cacheprovider", "-p", "kubescheduler.testing.pytest_plugin")
ENDLESS = """
import itertools
from algorithmprovider import register_fit_predicate

def cheap(pod, meta, node_info):
    {body}

register_fit_predicate("Cheap", cheap)

@pytest.mark.scheduler("policy=cheap.json")
def test_mine(scheduler): assert scheduler.place("web.yaml")

def test_other(): pass
"""


@pytest.mark.parametrize("body", ["while True: pass", "return sum(itertools.repeat(1))"], ids=["Python", "C"])
def test_a_rule_that_does_not_return(shop: Project, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test fails with file and line; where the interpreter is held, the run is ended, and says that."""
    shop.write("web.yaml", "{kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: web}]}}")
    shop.write("cheap.json", {"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "Cheap"}]})
    shop.test(ENDLESS.format(body=body))
    monkeypatch.delenv("KUBESCHEDULER_PATIENCE", raising=False)
    done = shop.pytester.runpytest_subprocess(*PLUGINS, "-o", "kubescheduler_patience=0.5")
    if body.startswith("while"):
        done.assert_outcomes(passed=1, failed=1)
        assert "it has run for 0.5 s and did not return" in str(done.stdout)
    else:
        assert done.ret == -signal.SIGKILL
        assert re.search(r"error: .*\.py, line \d+: it has run for 0.5 s and cannot be ended", str(done.stderr))
