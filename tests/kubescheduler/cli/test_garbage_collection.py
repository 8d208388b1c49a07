"""Garbage collection while a command runs."""

from __future__ import annotations

import gc

import click

from kubescheduler.cli.inputs import MADE_BEFORE_COLLECTION, nothing_collected


def test_collection_is_as_before_when_the_command_has_ended() -> None:
    """None while a cluster is read, seldom until the command ends, then as it was, with nothing set aside."""
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with click.Context(click.Command("any")):
        with nothing_collected():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_threshold() == (MADE_BEFORE_COLLECTION, *before[1:])
        assert gc.get_freeze_count() > frozen
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
