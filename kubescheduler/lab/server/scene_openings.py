"""What a tab can open: what the command line named, the cluster that comes with the package, an exercise of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clusterstate.errors import InputError
from kubescheduler.lab.scene.scene import Scene
from kubescheduler.lab.scene.sharing.lab_document import opened_document
from kubescheduler.lab.scene.sharing.share_text import shared_document

START, BUNDLED = "start", "bundled"


class SceneOpenings(msgspec.Struct, frozen=True):
    """Makes the scene of a tab. Only ``start`` has the user's plugins, and extenders that are asked."""

    start: Callable[[], Scene]
    """What the command line named."""
    bundled: Callable[[], Scene]
    """The cluster that comes with the package."""
    exercise: Callable[[str], Scene]
    """The exercise of that name that comes with the package. Raises InputError for a name that there is not."""

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
        if isinstance(source, Mapping) and len(source) == 1:
            [(what, given)] = source.items()
            if what == "exercise" and isinstance(given, str):
                return self.exercise(given)
            if what == "share" and isinstance(given, str):
                return Scene(opened_document(shared_document(given)))
            if what == "lab" and isinstance(given, Mapping):
                return Scene(opened_document(given))
        raise InputError(
            f'from: must be {START}, {BUNDLED}, {{"exercise": its name}}, {{"share": text}} or {{"lab": scene}}'
        )
