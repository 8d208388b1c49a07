import pytest

from kubescheduler.testing import assert_same_placements

OLD = "release=1.16,policy=policy.json"
PODS = ["pods/shop.yaml", "pods/batch.yaml"]

def test_first(cluster):
    assert_same_placements(OLD, "release=1.36,config=first-try.yaml", cluster, PODS, tolerate=["tie-break"])

def test_same_placements(cluster):
    assert_same_placements(OLD, "release=1.36,config=packing.yaml", cluster, PODS, mode="sequence")

def test_recorded(scheduler, placements):
    placements.check(scheduler, PODS)
