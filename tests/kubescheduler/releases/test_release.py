"""A release made of the one before it and a list of changes."""

from __future__ import annotations

import pytest
from msgspec.structs import asdict, replace

from clusterstate.errors import ConfigError
from kubescheduler.config.load_config import default_config
from kubescheduler.framework.contract.profile import Point
from kubescheduler.releases import edits, v1_36
from kubescheduler.releases.edits import after, change
from kubescheduler.releases.lookup import RELEASES, release_named
from kubescheduler.releases.release import ChangeKind, Edit, Release


def changed(edit: Edit, older: Release = v1_36.RELEASE) -> Release:
    return after(older, "1.37", (change("something", "Something is different.", ChangeKind.SCORE, edit),))


def weights(release: Release) -> dict[str, int]:
    scores = default_config(release.framework_rules.component).profiles[0].plugins[Point.SCORE]
    return {plugin.name: plugin.weight for plugin in scores}


def test_what_no_change_names() -> None:
    """It is inherited; the name and the version are the release's own."""
    newer = changed(edits.together())
    assert (newer.name, newer.framework_rules.component.release, newer.version) == ("1.37", "1.37", "1.37")
    form = replace(newer.framework_rules.component, release="1.36")
    assert asdict(newer.gates) == asdict(v1_36.GATES)
    own = ("name", "version", "summary", "made", "changes", "gates")
    again = replace(newer, **{name: getattr(v1_36.RELEASE, name) for name in own})
    for field in Release.__struct_fields__:
        if field != "framework":
            assert getattr(again, field) == getattr(v1_36.RELEASE, field)
    for field in type(form).__struct_fields__:
        assert getattr(form, field) == getattr(v1_36.FORMAT, field)


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
