"""The parts of manifests that a migration reads: their types, so that a manifest of another shape is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from clusterstate.errors import ConfigError


class _Item(msgspec.Struct):
    key: str
    path: str


class _ConfigMapVolume(msgspec.Struct):
    name: str | None = None
    items: list[_Item] | None = None


class _Volume(msgspec.Struct, rename="camel"):
    name: str | None = None
    config_map: _ConfigMapVolume | None = None


class _Mount(msgspec.Struct, rename="camel"):
    name: str | None = None
    mount_path: str | None = None
    sub_path: str | None = None


class _Container(msgspec.Struct, rename="camel"):
    command: list[str | int | float | bool] | None = None
    args: list[str | int | float | bool] | None = None
    image: str | None = None
    volume_mounts: list[_Mount] | None = None


class _PodSpec(msgspec.Struct):
    containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None


class _Template(msgspec.Struct):
    spec: _PodSpec | None = None


class _WorkloadSpec(_PodSpec):
    template: _Template | None = None


class _Metadata(msgspec.Struct):
    name: str | None = None


class _Workload(msgspec.Struct):
    metadata: _Metadata | None = None
    spec: _WorkloadSpec | None = None


class _ConfigMap(msgspec.Struct):
    metadata: _Metadata | None = None
    data: dict[str, Any] | None = None


def check_shape(document: Mapping[str, Any], name: str) -> None:
    """Raises ConfigError for a ConfigMap or workload with a part of another type. name: of its file."""
    kind = document.get("kind")
    try:
        msgspec.convert(document, _ConfigMap if kind == "ConfigMap" else _Workload)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        where = path.strip("`.") or str(kind)
        raise ConfigError(f"{name}: {kind}: {where}: {what[:1].lower()}{what[1:].replace('`', '')}") from None
