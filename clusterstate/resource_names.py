"""The classes of resource names (native, extended, huge pages, attachable volumes), and faults in names of any kind as
the framework releases word them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kubecel.api_names import NAME_LENGTH, SUBDOMAIN_LENGTH, qualified_name_errors


def is_prefixed_native_resource(name: str) -> bool:
    """The name contains ``kubernetes.io/``."""
    return "kubernetes.io/" in name


def is_native_resource(name: str) -> bool:
    """The name has no prefix, or one of Kubernetes' own."""
    return "/" not in name or is_prefixed_native_resource(name)


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """Not native, no quota name, and a qualified name still after ``requests.`` is put before it."""
    if is_native_resource(name) or name.startswith("requests."):
        return False
    return not qualified_name_errors(f"requests.{name}")


def is_hugepage_resource(name: str) -> bool:
    """``hugepages-<size>``."""
    return name.startswith("hugepages-")


def is_attachable_volume_resource(name: str) -> bool:
    """``attachable-volumes-<plugin>``."""
    return name.startswith("attachable-volumes-")


def is_scalar_resource(name: str) -> bool:
    """Whether release 1.16 keeps account of a resource other than cpu, memory, pods and ephemeral-storage.

    Those four are to be recognised before this test.
    """
    return (
        is_extended_resource(name)
        or is_hugepage_resource(name)
        or is_prefixed_native_resource(name)
        or is_attachable_volume_resource(name)
    )


_SINCE_1_20 = (("a DNS-1123 subdomain must", "a lowercase RFC 1123 subdomain must"),)
_SINCE_1_36 = (
    *_SINCE_1_20,
    ("a qualified name must", "a valid label key must"),
    *((f"no more than {most} characters", f"no more than {most} bytes") for most in (NAME_LENGTH, SUBDOMAIN_LENGTH)),
)
"""(in 1.16, since)."""


def worded_1_20(text: str) -> str:
    """The text about a name as release 1.20 has it."""
    return _reworded(text, _SINCE_1_20)


def worded_1_36(text: str) -> str:
    """The text about a name as release 1.36 has it."""
    return _reworded(text, _SINCE_1_36)


def _reworded(text: str, table: Iterable[tuple[str, str]]) -> str:
    for old, new in table:
        text = text.replace(old, new)
    return text
