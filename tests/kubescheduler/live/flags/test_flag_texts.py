"""Help about flags."""

from __future__ import annotations

import pytest

from kubescheduler.live.flags.flag_kinds import FlagKind
from kubescheduler.live.flags.flag_parsing import Flag
from kubescheduler.live.flags.flag_texts import usage
from kubescheduler.releases.lookup import live_release, live_releases


@pytest.mark.parametrize("release", live_releases())
def test_help_fits_a_terminal(release: str) -> None:
    """No line is wider than 80 columns, and every flag has a line of its own."""
    lines = usage(live_release(release).flags).splitlines()
    assert max(map(len, lines)) <= 80
    heads = {word for line in lines for word in line.split()[:2] if line.startswith("  ") and word.startswith("--")}
    assert heads == {f"--{flag.name}" for flag in live_release(release).flags}


def test_meanings_are_wrapped() -> None:
    """Below their flag, indented, with the default at the end."""
    flag = Flag("some-flag", FlagKind.INT, 7, "It " + "says " * 14 + "more.", section="Misc")
    first, second = f"          It {'says ' * 13}".rstrip(), "          says more. (default 7)"
    assert usage([flag]).endswith(f"      --some-flag int\n{first}\n{second}\n")
