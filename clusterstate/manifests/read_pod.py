"""A pod that was read without the defaults of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from clusterstate.objects import Pod


@attrs.frozen(eq=False)
class ReadPod:
    """A pod whose spec is still a text."""

    pod: Pod
    """The pod, without its spec and its manifest; namespace and uid may be empty."""
    spec: bytes
    """The JSON of what decoding reads of the spec."""
    is_stored: bool
    """Whether it has a resourceVersion."""
    kind: str = ""
    """What it says that it is; empty if it says nothing."""
    version: str = ""
    """Its apiVersion; empty if it says none."""
