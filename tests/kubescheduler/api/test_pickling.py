"""What copying and pickling of a cluster, a scheduler and a decision say."""

from __future__ import annotations

import copy
import pickle

import pytest

from kubescheduler import Cluster, Scheduler
from tests.support.releases_tried import RELEASES_TRIED


@pytest.mark.parametrize("release", RELEASES_TRIED)
def test_each_copies_as_itself_or_says_what_to_keep(release: str) -> None:
    """What never changes is its own copy; a scheduler is made anew, and nothing of the three is pickled."""
    cluster = Cluster(release=release).node("a", cpu=2)
    scheduler = Scheduler(cluster)
    decision = scheduler.decide({"metadata": {"name": "web"}, "spec": {}})
    for fixed in (cluster, decision):
        assert copy.deepcopy(fixed) is copy.copy(fixed) is fixed
    with pytest.raises(TypeError, match=r"make another one of scheduler\.cluster"):
        copy.deepcopy(scheduler)
    for kept, instead in ((cluster, "cluster.manifests"), (scheduler, "scheduler.cluster"), (decision, "to_dict")):
        with pytest.raises(TypeError, match=f"cannot be pickled or copied: .*{instead}"):
            pickle.dumps(kept)
    again = Cluster(pickle.loads(pickle.dumps(cluster.manifests())), release=release)
    assert Scheduler(again).decide({"metadata": {"name": "web"}, "spec": {}}).host == decision.host
