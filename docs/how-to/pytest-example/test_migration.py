from kubescheduler.testing import assert_same_placements

OLD = "release=1.16,policy=policy.json"
NEW = "release=1.36,config=packing.yaml"


def test_pods_go_where_they_went(cluster):
    assert_same_placements(OLD, NEW, cluster, ["pods/shop.yaml", "pods/batch.yaml"], mode="sequence")
