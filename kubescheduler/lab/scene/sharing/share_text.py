"""A scene as a short text for a link: its document as JSON, deflated, in base64 for addresses."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from kubescheduler.lab.scene.scene_faults import SceneFault
from kubescheduler.lab.scene.scene_state import SceneState
from kubescheduler.lab.scene.sharing.lab_document import lab_document

LONGEST = 8192
"""Characters of a link's text."""

MOST_BYTES = 4 * 1024 * 1024
"""What a text may be when it is inflated."""

UNREADABLE = "share: the text of the link cannot be read; was it cut off?"


def share_text(state: SceneState) -> str:
    """The text of a state, however long it is."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(msgspec.json.encode(lab_document(state))) + packer.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def shared_document(text: str) -> Mapping[str, Any]:
    """The document of a text. Raises SceneFault for one that is none, or that would become too large."""
    if len(text) > LONGEST:
        raise SceneFault(f"share: the text has more than {LONGEST:,} characters")
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = unpacker.decompress(packed, MOST_BYTES + 1)
        if len(found) > MOST_BYTES:
            raise SceneFault(f"share: the scene has more than {MOST_BYTES:,} bytes")
        if not unpacker.eof:
            raise SceneFault(UNREADABLE)
        document = msgspec.json.decode(found)
    except (binascii.Error, ValueError, zlib.error, msgspec.DecodeError, RecursionError) as error:
        if isinstance(error, SceneFault):
            raise
        raise SceneFault(UNREADABLE) from error
    if not isinstance(document, dict):
        raise SceneFault(UNREADABLE)
    return document
