"""Encoding and its inverse."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clusterstate.manifests.decode import Decoder, Item, decode_object
from clusterstate.manifests.kinds import encode_object
from clusterstate.objects import KINDS
from tests.support.strategies import EVERY_KIND


def test_every_kind_has_a_strategy() -> None:
    """The law below is checked for every kind."""
    assert set(EVERY_KIND) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_decode_of_encode_is_identity(kind: str, data: st.DataObject) -> None:
    """Parsed manifests and their JSON both give the object back, and a second time the same parts."""
    obj = data.draw(EVERY_KIND[kind])
    manifest = encode_object(obj)
    assert decode_object(manifest) == obj
    decoder = Decoder()
    raw = Item("f.json", msgspec.Raw(msgspec.json.encode(manifest)), kind=kind)
    assert decoder.decode_item(raw) == decoder.decode_item(raw) == obj
