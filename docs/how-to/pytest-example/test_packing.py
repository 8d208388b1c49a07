import pytest

NIGHTLY = {
    "metadata": {"name": "nightly"},
    "spec": {
        "tolerations": [{"key": "retiring", "operator": "Exists"}],
        "containers": [{"name": "c", "image": "batch:1", "resources": {"requests": {"cpu": "5"}}}],
    },
}


def test_the_fuller_worker_is_filled_first(scheduler):
    decision = scheduler.schedule("pods/shop.yaml")
    assert decision.host == "worker-1"
    assert decision.score("NodeResourcesFit") == {"worker-1": 49, "worker-2": 12}


def test_a_large_job_goes_to_the_machine_that_retires(scheduler):
    assert scheduler.place(NIGHTLY, "pods/shop.yaml") == {
        "default/nightly": "worker-3",
        "default/shop-1": "worker-1",
    }


@pytest.mark.scheduler("release=1.36")
def test_by_default_pods_are_spread(scheduler):
    assert scheduler.schedule("pods/shop.yaml").host == "worker-2"


def test_a_working_day(scheduler, placements):
    placements.check(scheduler, ["pods/shop.yaml", "pods/batch.yaml"])
