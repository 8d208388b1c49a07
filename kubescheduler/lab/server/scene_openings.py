"""What a tab can open: what the command line named, or the cluster that comes with the package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from clusterstate.errors import InputError
from kubescheduler.lab.scene.scene import Scene

START, BUNDLED = "start", "bundled"


@attrs.frozen
class SceneOpenings:
    """Makes the scene of a tab. Only ``start`` has plugins, and extenders that are asked: it is the user's own."""

    start: Callable[[], Scene]
    """What the command line named."""
    bundled: Callable[[], Scene]
    """The cluster that comes with the package."""

    def __call__(self, asked: Mapping[str, Any]) -> Scene:
        """The scene that ``from`` says. Raises InputError."""
        unknown = sorted(asked.keys() - {"from"})
        if unknown:
            raise InputError(f"{key}: unknown; there is from" for key in unknown)
        source = asked.get("from", START)
        if source == START:
            return self.start()
        if source == BUNDLED:
            return self.bundled()
        raise InputError(f"from: must be {START} or {BUNDLED}")
