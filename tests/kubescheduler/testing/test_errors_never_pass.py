"""No kind of error lets a test pass that asserts on placements, whatever it expects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kubescheduler.testing.conftest import Project
from tests.support.custom.extender_process import extender
from tests.support.references.error_kinds import ADDRESS, KINDS, ErrorKind

ATTEMPTS = {name: kind for name, kind in KINDS.items() if kind.policy is not None and not kind.files}

BODIES = {
    "place": 'def test(scheduler): assert scheduler.place("web.yaml") == {"default/web": None}',
    "record": 'def test(scheduler, placements): placements.check(scheduler, "web.yaml")',
    "compare": 'def test(cluster): assert_same_placements(*["policy=policy.json"] * 2, cluster, "web.yaml")',
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An extender that errs as the path says."""
    with extender() as found:
        yield found


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
