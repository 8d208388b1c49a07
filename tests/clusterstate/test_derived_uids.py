"""Uids of objects that come without one."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from clusterstate.derived_uids import derived_uid

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(kind=TEXTS, namespace=st.none() | TEXTS, name=TEXTS)
def test_they_are_uuids_of_version_5(kind: str, namespace: str | None, name: str) -> None:
    """The same as Python's own."""
    expected = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{namespace or ''}/{name}")
    assert derived_uid(kind, namespace, name) == str(expected)
