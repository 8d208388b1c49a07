"""Releases by whatever name they go."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.releases.lookup import RELEASES, release_of
from kubescheduler.releases.names import LIKE_THE_NEXT, RELEASE_NAMES, STEPS, minor, spoken


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("1.36", "1.36"),
        ("v1.36", "1.36"),
        ("1.36.2", "1.36"),
        ("v1.20.15-gke.1", "1.20"),
        ("v1.20.15_rke2r1", "1.20"),
        ("1.20+", "1.20"),
        (" v1.4.12 ", "1.4"),
    ],
)
def test_versions(text: str, release: str) -> None:
    """A version is its minor release."""
    assert release_of(text) == release


@pytest.mark.parametrize(
    "text", ["", "latest", "1", "1.", "v", "1.036", "1,36", "136", "1.36x", 1.36, None, [], "1.3.6"]
)
def test_no_version_is_guessed(text: object) -> None:
    """What is no version of a release is refused with the releases there are, and with no other name."""
    with pytest.raises(ConfigError) as raised:
        release_of(text)
    assert f"is not known; known are {', '.join(RELEASE_NAMES)}" in str(raised.value)
    assert "did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("1.17", ["it is between 1.16 and 1.18, more like 1.18: ", "from 1.16 by 1.17 (scores run from 0 to 100)"]),
        ("1.14", ["it is between 1.13 and 1.15, more like 1.13: from that it differs by 1.14 (pod priority"]),
        ("1.5", ["it is between 1.4 and 1.13, more like 1.4: from that it differs by what is not known here"]),
        ("v1.99.0", ["release v1.99.0 is", f"newer than all of them, nearest to {RELEASE_NAMES[-1]}"]),
        ("1.2", ["it is older than all of them, nearest to 1.4"]),
    ],
)
def test_advice(name: str, said: list[str]) -> None:
    """A release that is not here is answered with its neighbours, the one it is more like, and what lies between."""
    with pytest.raises(ConfigError) as raised:
        release_of(name)
    assert [part for part in said if part not in str(raised.value)] == []


def test_advice_among_some() -> None:
    """Neighbours are looked for among the releases that are asked about."""
    with pytest.raises(ConfigError, match=r"known are 1\.4, 1\.16; it is newer than all of them, nearest to 1\.16"):
        release_of("1.17", ("1.4", "1.16"))


def test_steps_stand_once_in_order() -> None:
    """The table is in the order releases came out; what is here says for itself what it changed."""
    assert [*STEPS] == sorted(STEPS, key=lambda name: int(minor(name)[2:]))  # type: ignore[index]
    assert STEPS.keys().isdisjoint(RELEASE_NAMES)
    assert [name for name in RELEASE_NAMES[1:] if not RELEASES[name].summary] == []
    assert all(int(a[2:]) < int(b[2:]) for a, b in itertools.pairwise(LIKE_THE_NEXT))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["1.20"], "1.20"),
        (["1.20", "1.21"], "1.20 or 1.21"),
        (["1.16", "1.18", "1.19"], "1.16 to 1.19"),
        (["1.4", "1.20", "1.21", "1.22", "1.36"], "1.4, 1.20 to 1.22 or 1.36"),
        (RELEASE_NAMES, f"1.4 to {RELEASE_NAMES[-1]}"),
    ],
)
def test_releases_that_follow_one_another(names: Sequence[str], said: str) -> None:
    """Three or more are a range."""
    assert spoken(names, "or") == said
