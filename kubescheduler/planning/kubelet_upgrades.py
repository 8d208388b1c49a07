"""Nodes that get a newer kubelet: the two versions, and what is to be said of them.

Upstream: the version skew policy. A kubelet may not be newer than the API server, and may be three minor releases
older, before 1.25 two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from clusterstate.errors import ConfigError
from clusterstate.manifests.fields import describe
from clusterstate.objects import Node
from kubescheduler.planning.departures import named

_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:[-+].*)?")
EXPECTED = "two versions of the kubelet, the later one last, such as 1.30:1.31"
OLDER, OLDER_BEFORE_1_25 = 3, 2
"""Minor releases by which a kubelet may be older than the API server."""


class KubeletVersion(msgspec.Struct, frozen=True):
    """``major.minor``, or ``major.minor.patch``."""

    major: int
    minor: int
    patch: int | None
    text: str
    """As it was given, without v."""

    @classmethod
    def of(cls, text: str) -> KubeletVersion | None:
        """None for what is no version."""
        found = _VERSION.fullmatch(text)
        if found is None:
            return None
        patch = None if found[3] is None else int(found[3])
        return cls(int(found[1]), int(found[2]), patch, text.removeprefix("v"))

    @property
    def numbers(self) -> tuple[int, int, int]:
        """By which versions are ordered; a minor release is where its patches begin."""
        return self.major, self.minor, self.patch or 0

    def covers(self, other: KubeletVersion) -> bool:
        """Whether another version is this one, or one of its patches where this one names none."""
        alike = (self.major, self.minor) == (other.major, other.minor)
        return alike and self.patch in (None, other.patch)


class KubeletUpgrade(msgspec.Struct, frozen=True):
    """From which version of the kubelet to which."""

    before: KubeletVersion
    after: KubeletVersion

    @classmethod
    def parse(cls, text: str, name: str) -> KubeletUpgrade:
        """``A:B``. name: of the option. Raises ConfigError with everything that is wrong."""
        parts = text.split(":")
        if len(parts) != 2:
            raise ConfigError(f"{name}: expected {EXPECTED}, found {describe(text)}")
        versions = [KubeletVersion.of(part.strip()) for part in parts]
        wrong = [describe(part) for part, version in zip(parts, versions, strict=True) if version is None]
        before, after = versions
        if before is None or after is None:
            raise ConfigError(f"{name}: expected {EXPECTED}; no version: {', '.join(wrong)}")
        if after.numbers <= before.numbers:
            raise ConfigError(f"{name}: expected {EXPECTED}; {after.text} is not later than {before.text}")
        return cls(before, after)

    def sentence(self) -> str:
        """What is done to nodes."""
        return f"each node comes back after its step with a kubelet of {self.after.text} instead of {self.before.text}"

    def to_dict(self) -> dict[str, str]:
        """Plain data, for JSON."""
        return {"from": self.before.text, "to": self.after.text}

    def upgraded(self, node: Node) -> Node:
        """The node with the new kubelet, all else as it was."""
        if node.manifest is None:
            return node
        status = dict(node.manifest.get("status") or {})
        status["nodeInfo"] = {**(status.get("nodeInfo") or {}), "kubeletVersion": f"v{self.after.text}"}
        return msgspec.structs.replace(node, manifest={**node.manifest, "status": status})

    def notes(self, nodes: Iterable[Node], release: str) -> Iterator[str]:
        """What a reader has to know of nodes that are upgraded. release: that of the control plane."""
        running = {node: kubelet_of(node) for node in nodes}
        if silent := [node.name for node, text in running.items() if not text]:
            yield f"which kubelet they run is not said by {named(silent)}"
        if others := [f"{node.name} ({text})" for node, text in running.items() if text and not self._is_before(text)]:
            yield f"another kubelet than {self.before.text} is run by {named(others)}"
        if any(node.declared_features for node in running):
            yield "the features that a kubelet declares are taken to be the same after the upgrade"
        control = KubeletVersion.of(release.partition("~")[0])
        if control is not None:
            yield from filter(None, (_skew(version, control) for version in (self.before, self.after)))

    def _is_before(self, text: str) -> bool:
        version = KubeletVersion.of(text)
        return version is not None and self.before.covers(version)


def kubelet_of(node: Node) -> str:
    """The version that a node's kubelet says; empty where it says none."""
    status = (node.manifest or {}).get("status") or {}
    return str((status.get("nodeInfo") or {}).get("kubeletVersion") or "")


def _skew(version: KubeletVersion, control: KubeletVersion) -> str:
    """What is unsupported of a kubelet beside a control plane; empty if nothing is."""
    older = control.minor - version.minor
    most = OLDER if (version.major, version.minor) >= (1, 25) else OLDER_BEFORE_1_25
    if older < 0:
        return f"a kubelet of {version.text} is newer than the control plane, release {control.text}: not supported"
    if older > most:
        return (
            f"a kubelet of {version.text} is {older} minor releases older than the control plane, release "
            f"{control.text}: at most {most} are supported"
        )
    return ""
