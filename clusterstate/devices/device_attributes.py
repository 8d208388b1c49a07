"""Attributes of devices by their full names."""

from __future__ import annotations

from clusterstate.objects.resource import Device, DeviceAttribute


def attribute(driver: str, device: Device, name: str) -> DeviceAttribute | None:
    """An attribute by its full name, ``domain/name``."""
    found = device.attributes.get(name)
    if found is None:
        domain, _, bare = name.rpartition("/")
        if domain == driver:
            found = device.attributes.get(bare)
    return found
