"""On which nodes a pod's claims can have devices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.devices.device_demand import Demand, devices_on, outcomes
from clusterstate.devices.device_inventory import inventory
from clusterstate.devices.device_search import OutOfTimeError, search
from clusterstate.objects import DeviceConstraint
from tests.support.build import make_node
from tests.support.devices import (
    BIG,
    DRIVER,
    SOME,
    allocated,
    device_cluster,
    exactly,
    gpu,
    make_claim,
    make_class,
    make_slice,
)


def test_time_is_up() -> None:
    """The search ends when it is told to."""
    cluster = device_cluster([make_node("n")], [make_class(), make_slice("n", gpu("a"))])
    stock = inventory(cluster.snapshot)
    needed = Demand("default", (make_claim(),)).needed_on(0, cluster.snapshot)
    with pytest.raises(OutOfTimeError):
        search(needed, stock.layout.pools[1], stock, lambda: True)


def test_nodes_that_offer_the_same_are_searched_once() -> None:
    """Pools of equal content under other names are one group; a device in use makes a difference."""
    nodes = [make_node(f"n{i}") for i in range(5)]
    slices = [make_slice(node.name, gpu("a"), gpu("b")) for node in nodes[:4]]
    cluster = device_cluster(nodes, [make_class(), *slices, make_claim("c", allocation=allocated("n3", "a"))])
    stock = inventory(cluster.snapshot)
    assert len(set(stock.alike[stock.layout.codes].tolist())) == 3
    found = outcomes(Demand("default", (make_claim("d", exactly(count=2)),)), cluster.snapshot)
    assert found.fits.tolist() == [True, True, True, False, False]


@given(data=st.data())
def test_grouping_changes_nothing(data: st.DataObject) -> None:
    """Searching once for nodes that offer the same gives what searching node by node does, also for some rows only."""
    nodes = [make_node(f"n{i}", {"kind": data.draw(st.sampled_from("xy"))}) for i in range(4)]
    device = st.builds(
        lambda name, numa, gib: gpu(name, {"numa": numa}, gib),
        st.sampled_from("ab"),
        st.integers(0, 1),
        st.sampled_from([20, 40]),
    )
    sets = st.lists(device, min_size=1, max_size=2, unique_by=lambda d: d.name)
    slices = [make_slice(node.name, *data.draw(sets)) for node in nodes if data.draw(st.booleans())]
    claims = [make_claim("used", allocation=allocated(data.draw(st.sampled_from(["n0", "n1"])), "a"))]
    cluster = device_cluster(nodes, [make_class(), *slices, *data.draw(st.sampled_from([[], [SOME]])), *claims])
    snapshot = cluster.snapshot
    request = exactly(count=data.draw(st.integers(1, 2)), selectors=data.draw(st.sampled_from([(), (BIG,)])))
    same = DeviceConstraint((), f"{DRIVER}/numa")
    demand = Demand("default", (make_claim("c", request, constraints=data.draw(st.sampled_from([(), (same,)]))),))
    whole = outcomes(demand, snapshot).fits.tolist()
    assert whole == [devices_on(demand, snapshot, row, "p") is not None for row in range(4)]
    rows = snapshot.row_numbers[data.draw(st.lists(st.integers(0, 3), unique=True, min_size=1))]
    assert outcomes(demand, snapshot.take(rows)).fits.tolist() == [whole[row] for row in rows]
