import pytest

from kubescheduler.testing import assert_same_placements

SHOP = "pods/shop.yaml"


@pytest.mark.parametrize(
    "release",
    [
        pytest.param(release, marks=pytest.mark.scheduler(f"release={release}"))
        for release in ("1.4", "1.16", "1.20", "1.36")
    ],
)
def test_the_shop_is_spread_by_default(scheduler, release):
    decision = scheduler.schedule(SHOP)
    assert (decision.release, decision.host) == (release, "worker-2")


@pytest.mark.parametrize("new", ["release=1.16", "release=1.20", "release=1.36"])
def test_the_move_from_1_4_is_none(cluster, new):
    assert_same_placements("release=1.4", new, cluster, [SHOP])
