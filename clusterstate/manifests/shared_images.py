"""Images in the manifests of nodes: a node lists a hundred names, and most nodes list the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterstate.manifests.documents import Manifest

REMEMBERED = 65_536
"""Images; when there are more, all are forgotten and remembered anew."""

FIELDS = ["names", "sizeBytes"]
"""The fields of an image, in the order in which a server writes them."""


class SharedImages:
    """Has equal images of all manifests be one object. Manifests are never written to."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}

    def manifest(self, manifest: Manifest) -> Manifest:
        """The manifest of a node, its images those seen before where they are equal."""
        status = manifest.get("status")
        if not isinstance(status, Mapping) or not status.get("images"):
            return manifest
        return {**manifest, "status": {**status, "images": [self._image(image) for image in status["images"]]}}

    def _image(self, image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The image itself when it is written in another way than a server does."""
        if image is None or list(image) != FIELDS or not image["names"]:
            return image
        found = self._seen.get((*image["names"], image["sizeBytes"]))
        if found is not None:
            return found
        if len(self._seen) >= REMEMBERED:
            self._seen.clear()
        self._seen[*image["names"], image["sizeBytes"]] = image
        return image
