"""What happens when nodes are drained, as ``kubectl drain`` does it, and with which kubelet they come back.

All nodes are cordoned first. Then one after the other they lose their pods: whatever budgets allow is evicted at once,
and the rest when pods run again elsewhere and the budgets are counted anew, until all are gone or nothing moves any
more. Upstream: kubectl/pkg/drain, and the version skew policy for kubelets: none may be newer than the API server, and
it may be three minor releases older, before 1.25 two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from clusterstate.errors import ConfigError, InputError
from clusterstate.manifests.fields import describe
from clusterstate.objects import Node, Pod
from kubescheduler.planning.departures import Budgets, EvictionRefusal, Fate, fate_of, is_counted, named
from kubescheduler.planning.rehearsal import Rehearsal

DAEMON_SETS = "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
LOCAL_STORAGE = "cannot delete Pods with local storage (use --delete-emptydir-data to override)"
NO_CONTROLLER = "cannot delete Pods that declare no controller (use --force to override)"
"""What kubectl says of pods for which a flag is missing."""

Selects = Callable[[Pod], bool]


def every(_: Pod) -> bool:
    """Every pod."""
    return True


class DrainFlags(msgspec.Struct, frozen=True):
    """The flags of ``kubectl drain``."""

    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False
    """Also pods of no controller, which are lost."""
    disable_eviction: bool = False
    """Pods are deleted, so that no budget protects them."""
    selects: Selects = every
    """The pods of --pod-selector; others stay."""
    has_local_storage: Selects = lambda _: False
    """Whether a pod has an emptyDir volume."""


class Stays(msgspec.Struct, frozen=True):
    """A pod that drain leaves where it is."""

    pod: Pod
    why: str


class Blocked(msgspec.Struct, frozen=True):
    """A pod whose eviction is refused however long one waits."""

    pod: Pod
    refusal: EvictionRefusal
    why: str
    """What keeps the budget from opening."""
    opens: str
    """The smallest change that would open it; empty where nobody knows one."""


class Chosen(msgspec.Struct, frozen=True):
    """What becomes of the pods of one node."""

    node: str
    leaving: tuple[Pod, ...]
    stays: tuple[Stays, ...]
    faults: Mapping[str, Sequence[str]]
    """What kubectl says where a flag is missing → ``namespace/name`` of the pods that need it."""


def chosen(rehearsal: Rehearsal, nodes: Iterable[str], flags: DrainFlags) -> list[Chosen]:
    """The pods that leave each node. Upstream: GetPodsForDeletion, makeFilters."""
    out: list[Chosen] = []
    for node in nodes:
        leaving: list[Pod] = []
        stays: list[Stays] = []
        faults: dict[str, list[str]] = {}
        for pod in sorted((*rehearsal.pods_on(node), *rehearsal.finished_on(node)), key=lambda pod: pod.key):
            if not flags.selects(pod):
                stays.append(Stays(pod, "not selected"))
            elif fault := _fault(pod, flags):
                faults.setdefault(fault, []).append(pod.key)
            elif fate_of(pod) in (Fate.DAEMON, Fate.STATIC):
                stays.append(Stays(pod, fate_of(pod).value))
            else:
                leaving.append(pod)
        out.append(Chosen(node, tuple(leaving), tuple(stays), faults))
    return out


def check_flags(nodes: Iterable[Chosen]) -> None:
    """Raises InputError with kubectl's words for every flag that is missing."""
    problems = [
        f"node {each.node}: {fault}: {', '.join(pods)}" for each in nodes for fault, pods in each.faults.items()
    ]
    if problems:
        raise InputError(problems)


def _fault(pod: Pod, flags: DrainFlags) -> str:
    """The flag that is missing for a pod, the first as kubectl's filters find it."""
    fate = fate_of(pod)
    if fate in (Fate.FINISHED, Fate.STATIC):
        return ""
    if fate is Fate.DAEMON:
        return "" if flags.ignore_daemonsets else DAEMON_SETS
    if not flags.delete_emptydir_data and flags.has_local_storage(pod):
        return LOCAL_STORAGE
    return NO_CONTROLLER if fate is Fate.BARE and not flags.force else ""


def drained(rehearsal: Rehearsal, nodes: Iterable[Chosen], flags: DrainFlags) -> list[Blocked]:
    """Drains nodes that are cordoned; the pods that do not leave however long one waits.

    kubectl would wait for these for ever: the nodes after theirs are drained all the same, then they are tried again.
    """
    left = [pod for node in nodes for pod in _emptied(rehearsal, node.leaving, flags)]
    left = _emptied(rehearsal, left, flags)
    refused = ((pod, rehearsal.budgets.refusal(pod)) for pod in left)
    return [blocked_by(rehearsal.budgets, pod, refusal) for pod, refusal in refused if refusal is not None]


def _emptied(rehearsal: Rehearsal, pods: Sequence[Pod], flags: DrainFlags) -> list[Pod]:
    """Evicts pods as budgets allow it; those for which they never do."""
    left = list(pods)
    while left:
        allowed = [pod for pod in left if flags.disable_eviction or rehearsal.budgets.evict(pod) is None]
        if not allowed:
            break
        rehearsal.evict(allowed)
        rehearsal.settle()
        gone = {pod.metadata.uid for pod in allowed}
        left = [pod for pod in left if pod.metadata.uid not in gone]
    return left


def blocked_by(budgets: Budgets, pod: Pod, refusal: EvictionRefusal) -> Blocked:
    """A pod whose eviction is refused, with why that is and what would open the way."""
    if len(refusal.budgets) > 1:
        return Blocked(pod, refusal, f"selected by {' and '.join(refusal.budgets)}", "select it by one of them alone")
    [key] = refusal.budgets
    health = budgets.health(key)
    if health.fault:
        return Blocked(pod, refusal, health.fault, budgets.opening(key))
    if not budgets.at_best(key):
        return Blocked(pod, refusal, "it allows no disruption even if all its pods are ready", budgets.opening(key))
    unready = [each.key for each in budgets.pods_of(key) if not is_counted(each)]
    text = f"{named(unready)} {'is' if len(unready) == 1 else 'are'} not ready" if unready else "pods are missing"
    return Blocked(pod, refusal, text, "")


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
