"""A release made of the one before it and a list of changes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from clusterstate.errors import ConfigError
from kubescheduler.config.component.load_config import default_config
from kubescheduler.config.gates import ALPHA, BETA
from kubescheduler.framework.contract.profile import Point
from kubescheduler.releases import edits, v1_20, v1_36
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.lookup import RELEASES, release_named
from kubescheduler.releases.release import ChangeKind, Edit, Release
from tests.support.build import make_pod


def changed(edit: Edit, older: Release = v1_36.RELEASE) -> Release:
    return after(older, "1.37", (change("something", "Something is different.", ChangeKind.SCORE, edit),))


def weights(release: Release) -> dict[str, int]:
    scores = default_config(release.framework_rules.component).profiles[0].plugins[Point.SCORE]
    return {plugin.name: plugin.weight for plugin in scores}


@pytest.mark.parametrize("older", [v1_20.RELEASE, v1_36.RELEASE], ids=lambda release: release.name)
def test_weight(older: Release) -> None:
    """A weight is one field of a plugin's record; the release before keeps its own."""
    newer = changed(edits.plugin("TaintToleration", default_weight=7), older)
    assert weights(newer) == {**weights(older), "TaintToleration": 7}
    assert weights(older)["TaintToleration"] != 7


def test_what_no_change_names() -> None:
    """It is inherited; the name and the version are the release's own."""
    newer = changed(edits.together())
    assert (newer.name, newer.framework_rules.component.release, newer.version) == ("1.37", "1.37", "1.37")
    form = replace(newer.framework_rules.component, release="1.36")
    own = ("name", "version", "summary", "made", "changes")
    again = replace(newer, **{name: getattr(v1_36.RELEASE, name) for name in own})
    for field in Release.__struct_fields__:
        if field != "framework":
            assert getattr(again, field) == getattr(v1_36.RELEASE, field)
    for field in type(form).__struct_fields__:
        assert getattr(form, field) == getattr(v1_36.FORMAT, field)


def test_gates() -> None:
    """Gates come, change and go."""
    known = v1_36.RELEASE.gates.gates
    assert known["DRAExtendedResource"].default
    newer = changed(edits.gates({"DRAExtendedResource": ALPHA, "Newest": BETA}, gone=("GangScheduling",)))
    assert newer.gates.gates == {
        **{name: gate for name, gate in known.items() if name != "GangScheduling"},
        "DRAExtendedResource": ALPHA,
        "Newest": BETA,
    }


def test_plugins_come_and_go() -> None:
    """A plugin that is gone leaves the default list, too."""
    newer = changed(edits.without_plugins("ImageLocality"))
    assert weights(newer) == {
        name: weight for name, weight in weights(v1_36.RELEASE).items() if name != "ImageLocality"
    }
    again = changed(edits.plugins(v1_36.PLUGINS["ImageLocality"]), newer)
    assert again.framework_rules.plugins.keys() == v1_36.PLUGINS.keys()


def test_objects_are_read_otherwise() -> None:
    """A field of the view is another one whatever the gates."""
    newer = changed(edits.viewing(identity=lambda read: read.metadata.name))
    assert newer.default_view.identity(make_pod("a")) == "a"


def test_in_the_order_of_the_list() -> None:
    """A later change sees what an earlier one made."""
    twice = (
        change("one", "It weighs 5.", ChangeKind.WEIGHT, edits.plugin("ImageLocality", default_weight=5)),
        change("other", "It weighs 6.", ChangeKind.WEIGHT, edits.plugin("ImageLocality", default_weight=6)),
    )
    newer = after(v1_36.RELEASE, "1.37", twice)
    assert weights(newer)["ImageLocality"] == 6
    assert newer.changes == twice


def test_one_chain() -> None:
    """From 1.13 on every release is made of the one before it, and says of each change one sentence."""
    assert [name for name, record in RELEASES.items() if record.made is None] == ["1.4", "1.13"]
    texts = [change.text for record in RELEASES.values() for change in record.changes]
    assert [text for text in texts if not text.endswith(".") or ". " in text] == []


def test_names_are_for_one_change() -> None:
    """A name says which release is meant, too."""
    names = [change.name for record in RELEASES.values() for change in record.changes]
    assert len(names) == len({*names})


def test_several_taken_back() -> None:
    """What is left are the other changes, in their order; of nothing left comes the release before."""
    first, *others = (change.name for change in v1_36.RELEASE.changes)
    assert [change.name for change in release_named(f"1.36~{first}").changes] == others
    none = release_named("~".join(("1.36", first, *others)))
    assert (none.changes, weights(none)) == ((), weights(RELEASES["1.35"]))
    with pytest.raises(ConfigError, match=r"release 1\.36~.* has no change elsewhere"):
        release_named(f"1.36~{first}~elsewhere")
