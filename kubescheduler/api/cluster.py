"""Cluster: nodes, pods and everything else that a scheduler reads, as one release stores them; and what would be if it
were different."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Self

from clusterstate.cache import TERMINATED
from clusterstate.cluster_objects import KEPT, ClusterObjects
from clusterstate.errors import ConfigError, DecodeError
from clusterstate.manifests.decode import Item
from clusterstate.manifests.fields import Judgement, Strictness, strictness_of
from clusterstate.objects import AdmissionObject, ClusterObject, Node, Pod, PodDisruptionBudget
from kubescheduler import manifest_builders
from kubescheduler.core.results import CopiedAsItself
from kubescheduler.engine.spec import filled_cache
from kubescheduler.given import (
    GATES,
    GATES_TEXT,
    KINDS_OF_GIVEN,
    Entries,
    Entry,
    Given,
    Key,
    PodAsking,
    checked_name,
    decoded,
    found_in,
    given_again,
    key_of,
    nearest_name,
    read_paths,
    refuse,
    shared,
    wrong_type,
)
from kubescheduler.releases.lookup import release_named
from kubescheduler.releases.names import DEFAULT_RELEASE
from kubescheduler.simulation.pod_claims import (
    ClaimControllers,
    given_back,
    is_new,
    made_for,
    met_claims,
    with_claims_of,
)
from kubescheduler.sources.cluster_input import Progress, UnreadableManifests, check_references, kind_of, no_collection

if TYPE_CHECKING:
    from clusterstate.cache import ClusterCache
    from clusterstate.podinfo import ReleaseView
    from kubescheduler.manifest_builders import Amount, Edit, Manifest
    from kubescheduler.releases.daemon_controllers import DaemonController
    from kubescheduler.simulation.pods_to_place import PodsToPlace, ReadObject
    from kubescheduler.simulation.simulation_report import ClusterUtilisation


class Cluster(CopiedAsItself):
    """A cluster of one release. It never changes: every method gives another cluster and leaves this one alone.

    things: file names, kubectl's JSON or YAML as text, manifests, objects, one or several. release: whose API server
    stores them; it fills in what manifests leave out (namespace, uid, priority, requests), and a scheduler of the
    cluster decides as this release does. defaulting: False takes manifests as they are, as an API server stored them.
    validate: what comes of unknown fields and of values that no API server takes, ``"strict"`` (a fault), ``"warn"`` (a
    note) or ``"ignore"``; by default strict in manifests without a uid and a resourceVersion, which somebody wrote.
    gates: feature gates of the API server, ``{"TaintTolerationComparisonOperators": True}``, by which it takes more.
    Raises DecodeError with every fault.

    >>> cluster = Cluster(release="1.36").node("a", cpu=4, memory="8Gi").pod("web-1", node="a", cpu="500m")
    >>> cluster
    <Cluster of release 1.36: 1 node, 1 pod>
    >>> cluster.without_node("a").pending()[0].key
    'default/web-1'
    >>> cluster
    <Cluster of release 1.36: 1 node, 1 pod>
    """

    _KEEP_INSTEAD = "keep cluster.manifests(), of which Cluster(…, release=…) makes it again"

    def __init__(
        self,
        *things: Any,
        release: str = DEFAULT_RELEASE,
        defaulting: bool = True,
        validate: Judgement | None = None,
        gates: Mapping[str, bool] | str | None = None,
    ) -> None:
        refuse(wrong_type("gates", gates, GATES, GATES_TEXT))
        self._release = release_named(release).name
        self._defaulting = defaulting
        self._strictness = strictness_of(validate).under(release_named(release).accepted_values(gates))
        self._keeps_manifests = True
        self._entries = Entries()
        self._notes: tuple[str, ...] = ()
        self._admitting: tuple[AdmissionObject, ...] = ()
        self._daemon_sets: tuple[Item, ...] = ()
        if things:
            filled = self.add(*things)
            self._entries, self._notes, self._admitting = filled._entries, filled._notes, filled._admitting
            self._daemon_sets = filled._daemon_sets

    @classmethod
    def read(
        cls,
        *paths: str | os.PathLike[str] | IO[Any],
        release: str = DEFAULT_RELEASE,
        stdin: IO[bytes] | None = None,
        defaulting: bool = True,
        keep_manifests: bool = True,
        progress: Progress | None = None,
        validate: Judgement | None = None,
        gates: Mapping[str, bool] | str | None = None,
    ) -> Self:
        """The cluster in files and folders (.json, .yaml, also gzipped; .csv: nodes of a trace), ``-`` or a stream.

        stdin: what ``-`` reads, by default standard input. keep_manifests: False saves memory; such a cluster cannot
        be read again ``for_release``. progress: called with (objects decoded, objects in all). validate, gates: as for
        the class. Raises DecodeError with every fault of every file; a pod that runs on a node that is not there is
        one.

        >>> Cluster.read("policy_examples/cluster.yaml", release="1.20")
        <Cluster of release 1.20: 7 nodes, 5 pods, 1 Service>
        """
        import sys

        empty = cls(release=release, defaulting=defaulting, validate=validate, gates=gates)
        empty._keeps_manifests = keep_manifests
        files = [path for path in paths if isinstance(path, str | os.PathLike)]
        sparse = not keep_manifests and empty._strictness.stored == "ignore"
        with no_collection():
            given = read_paths(files, getattr(sys.stdin, "buffer", None) if stdin is None else stdin, sparse=sparse)
            streams = found_in([path for path in paths if not isinstance(path, str | os.PathLike)])
            return empty._with(
                Given(given.items + streams.items, streams.objects, given.problems + streams.problems), progress
            )

    # --- what there is -----------------------------------------------------------------------

    @property
    def release(self) -> str:
        """Whose API server stores the objects."""
        return self._release

    @property
    def strictness(self) -> Strictness:
        """What comes of fields that the API does not have in what is read for the cluster."""
        return self._strictness

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out while reading, as texts."""
        return self._notes

    @property
    def daemon_sets(self) -> tuple[Item, ...]:
        """The manifests of DaemonSets: no scheduler reads them, but new nodes have their pods."""
        return self._daemon_sets

    @property
    def objects(self) -> list[ClusterObject]:
        """Every object, in order; a disruption budget without a status has what its controller would count."""
        out = [entry.obj for entry in self._entries]
        if self._defaulting and any(type(obj) is PodDisruptionBudget and not obj.is_counted for obj in out):
            from kubescheduler.planning.departures import counted_budgets

            counted = counted_budgets(self._beside_pods(), self.pods)
            return [counted.get(key_of(obj)[1], obj) if type(obj) is PodDisruptionBudget else obj for obj in out]
        return out

    @property
    def nodes(self) -> list[Node]:
        """The nodes, in order."""
        return [entry.obj for entry in self._entries if isinstance(entry.obj, Node)]

    @property
    def pods(self) -> list[Pod]:
        """The pods, running and pending, in order."""
        return [entry.obj for entry in self._entries if isinstance(entry.obj, Pod)]

    def pending(self) -> list[Pod]:
        """The pods that wait for a node, in the order in which a scheduler's queue has them.

        >>> [pod.key for pod in Cluster().pod("a").pod("b", priority=10).pending()]
        ['default/b', 'default/a']
        """
        return release_named(self._release).queue_order(self.objects)

    def find_pod(self, name: str) -> Pod | None:
        """The pod called ``namespace/name``, or ``name`` in the namespace default; None when there is none.

        >>> Cluster().pod("web-1", priority=7).find_pod("web-1").priority
        7
        """
        entry = self._find("Pod", name)
        return entry.obj if entry is not None and isinstance(entry.obj, Pod) else None

    def manifests(self) -> list[dict[str, Any]]:
        """Every object in kubectl's form, as it was read.

        >>> [manifest["kind"] for manifest in Cluster().node("a").pod("b", node="a").manifests()]
        ['Node', 'Pod']
        """
        return [entry.manifest() for entry in self._entries]

    def entries(self) -> Iterable[Entry]:
        """Every object with its source and what it was read from."""
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ClusterObject]:
        return iter(self.objects)

    def __repr__(self) -> str:
        return f"<Cluster of release {self._release}: {self._counts()}>"

    def _counts(self) -> str:
        counts = {"node": 0, "pod": 0}
        for entry in self._entries:
            kind = type(entry.obj).__name__
            kind = kind.lower() if kind in ("Node", "Pod") else kind
            counts[kind] = counts.get(kind, 0) + 1
        return ", ".join(f"{n} {kind}{'s' * (n != 1 and kind.islower())}" for kind, n in counts.items())

    # --- more --------------------------------------------------------------------------------

    def add(self, *things: Any) -> Self:
        """With more objects: file names, kubectl's JSON or YAML as text, manifests, objects, one or several.

        An object other than a node or pod takes the place of one with its name. What admission reads
        (PriorityClass, RuntimeClass, LimitRange) has to be there before the pods, or come with them. Raises DecodeError
        with every fault; a node or pod that is there already is one, and a pod that runs on a node that is not.

        >>> service = {"kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}}}
        >>> Cluster().add(service)
        <Cluster of release 1.16: 0 nodes, 0 pods, 1 Service>
        """
        given = found_in(things)
        if not (given.items or given.objects or given.problems):
            given.problems.append(f"cluster: nothing to add; give {KINDS_OF_GIVEN}")
        return self._with(given)

    def node(self, name: str, **fields: Any) -> Self:
        """With a node; for the fields see ``kubescheduler.node``: by default it has 4 cpu, 8Gi and room for 110 pods.

        >>> Cluster().node("a", taints=["dedicated=db:NoSchedule"], zone="eu-1").nodes[0].taints
        (Taint(key='dedicated', value='db', effect='NoSchedule'),)
        """
        return self.add(manifest_builders.node(name, **fields))

    def pod(self, name: str | Mapping[str, Any], **fields: Any) -> Self:
        """With a pod: its name and the fields of ``kubescheduler.pod``, or a manifest.

        >>> Cluster().node("a").pod("web-1", node="a", cpu="500m", labels={"app": "web"}).pods[0].node_name
        'a'
        """
        if isinstance(name, Mapping):
            return self.add({"kind": "Pod", **name})
        return self.add(manifest_builders.pod(name, **fields))

    def for_release(
        self, release: str, gates: Mapping[str, bool] | str | None = None, *, like: tuple[Self, Self] | None = None
    ) -> Self:
        """The same cluster as another release stores it, read again from the manifests; itself for its own release.

        gates: of the other release, see the class. like: a cluster, and the same for that release under these gates;
        what they have in common with this one is not read again.
        Raises ConfigError when the manifests were not kept.

        >>> Cluster().node("a").for_release("1.36").release
        '1.36'
        """
        if release == self._release:
            return self
        if not self._keeps_manifests:
            raise ConfigError(
                f"the cluster was read for release {self._release} without keeping manifests; "
                f'read it again: Cluster.read(…, release="{release}")'
            )
        fresh = type(self)(release=release, defaulting=self._defaulting)
        fresh._strictness = self._strictness.under(release_named(release).accepted_values(gates))
        fresh._daemon_sets = self._daemon_sets
        common = None if like is None else shared(self._entries, like[0]._entries, like[1]._entries)
        if like is None or common is None:
            return fresh._with(given_again(self._entries))
        fresh._admitting = like[1]._admitting
        kept, changed = common
        read, notes = fresh._decoded(given_again(changed))
        by_key = kept | {entry.key: entry for entry in read}
        entries = Entries(by_key[entry.key] for entry in self._entries if entry.key in by_key)
        return fresh._of(entries, (*like[1].notes, *notes))

    # --- what if ---------------------------------------------------------------------------
    # Each raises DecodeError for a name that the cluster does not have.

    def without_node(self, *names: str) -> Self:
        """Without nodes. Their pods wait for another, but those of a DaemonSet and those that have finished are gone
        with the node. What becomes of claims is as for ``without_pod``.

        >>> cluster = Cluster().node("a").node("b").pod("web-1", node="a")
        >>> [pod.key for pod in cluster.without_node("a").pending()]
        ['default/web-1']
        """
        gone: dict[Key, Edit | None] = {self._known("Node", name).key: None for name in names}
        return self._ended({**gone, **self._pods_off(names)})

    def drained(self, *names: str) -> Self:
        """With nodes that take no more pods and whose pods wait for another; those of a DaemonSet, and those that have
        finished, stay. What becomes of claims is as for ``without_pod``.

        >>> cluster = Cluster().node("a").pod("web-1", node="a").drained("a")
        >>> cluster.nodes[0].unschedulable, len(cluster.pending())
        (True, 1)
        """
        leaving = {key: edit for key, edit in self._pods_off(names).items() if edit is not None}
        return self._nodes(names, manifest_builders.cordoned)._ended(leaving)

    def cordoned(self, *names: str) -> Self:
        """With nodes that take no more pods.

        >>> Cluster().node("a").cordoned("a").nodes[0].unschedulable
        True
        """
        return self._nodes(names, manifest_builders.cordoned)

    def uncordoned(self, *names: str) -> Self:
        """With nodes that take pods again.

        >>> Cluster().node("a", unschedulable=True).uncordoned("a").nodes[0].unschedulable
        False
        """
        return self._nodes(names, manifest_builders.uncordoned)

    def with_taint(self, name: str, taint: str | Manifest) -> Self:
        """With a taint on a node: ``"key=value:NoSchedule"``, as kubectl writes it, or a manifest.

        >>> Cluster().node("a").with_taint("a", "maintenance:NoExecute").nodes[0].taints[0].key
        'maintenance'
        """
        return self._nodes([name], manifest_builders.tainted(taint))

    def without_taint(self, name: str, taint: str) -> Self:
        """Without a node's taints of a key, or of ``key:Effect``.

        >>> Cluster().node("a", taints=["gpu:NoSchedule"]).without_taint("a", "gpu").nodes[0].taints
        ()
        """
        return self._nodes([name], manifest_builders.untainted(taint))

    def with_label(self, name: str, labels: Mapping[str, str | None] | str, value: str | None = None) -> Self:
        """With labels on a node: a key and its value, or several as a mapping; the value None removes a label.

        >>> Cluster().node("a").with_label("a", "disk", "ssd").nodes[0].metadata.labels["disk"]
        'ssd'
        """
        pairs = {labels: value} if isinstance(labels, str) else labels
        return self._nodes([name], manifest_builders.labelled(pairs))

    def resized(self, name: str, **amounts: Amount | Mapping[str, Amount | None] | None) -> Self:
        """With other allocatable amounts on a node: ``cpu=``, ``memory=``, ``pods=``, ``resources={"gpu": 2}``.

        >>> Cluster().node("a", cpu=4).resized("a", cpu=8).nodes[0].allocatable["cpu"]
        8000
        """
        further = amounts.pop("resources", None)
        more = further if isinstance(further, Mapping) else {}
        return self._nodes([name], manifest_builders.resized({**amounts, **more}))

    def cloned(self, name: str, count: int = 1) -> Self:
        """With copies of a node, empty and called ``name-1``, ``name-2`` and so on, but for taken names.

        >>> [node.name for node in Cluster().node("a", cpu=64).cloned("a", 2).cloned("a").nodes]
        ['a', 'a-1', 'a-2', 'a-3']
        """
        return self.add(_copies(self._known("Node", name).manifest(), name, {node.name for node in self.nodes}, count))

    def without_pod(self, *names: str) -> Self:
        """Without pods, named ``namespace/name``, or ``name`` in the namespace default.

        Claims that were made for a pod alone go with it, and the devices of a claim that nobody else uses are free.
        A pod that waits again has such claims anew; those of a StatefulSet's stay.

        >>> len(Cluster().node("a").pod("web-1", node="a").without_pod("web-1").pods)
        0
        """
        return self._ended({self._known("Pod", name).key: None for name in names})

    def unbound(self, *names: str) -> Self:
        """With running pods that are pending again, as if they had just been created; claims are as for
        ``without_pod``.

        >>> [pod.key for pod in Cluster().node("a").pod("web-1", node="a").unbound("web-1").pending()]
        ['default/web-1']
        """
        return self._ended({self._known("Pod", name).key: manifest_builders.unbound for name in names})

    def bound(self, name: str, node: str) -> Self:
        """With a pending pod that runs on a node.

        >>> Cluster().node("a").pod("web-1").bound("web-1", "a").pods[0].node_name
        'a'
        """
        return self.with_hosts({name: node})

    def with_hosts(self, hosts: Mapping[str, str]) -> Self:
        """With pods that run on nodes: pod → node.

        >>> cluster = Cluster().node("a").pod("web-1").pod("web-2").with_hosts({"web-1": "a", "web-2": "a"})
        >>> [pod.node_name for pod in cluster.pods]
        ['a', 'a']
        """
        for node in set(hosts.values()):
            self._known("Node", node)
        return self._changed(
            {self._known("Pod", name).key: manifest_builders.bound(node) for name, node in hosts.items()}
        )

    def scaled(self, name: str, replicas: int) -> Self:
        """With so many pods like one: further ones are pending copies, and those there are too many of are gone.

        name: of a pod, or of the controller that owns the pods (``namespace/name``, or ``name`` in the namespace
        default). Pending pods go first, then the last ones. A copy has claims of its own where the pod has some;
        what becomes of claims of those that go is as for ``without_pod``.

        >>> cluster = Cluster().node("a").pod("web", node="a", cpu=1)
        >>> [pod.key for pod in cluster.scaled("web", 3).pending()]
        ['default/web-1', 'default/web-2']
        """
        pods = self._replicas(name)
        order = sorted(pods, key=lambda pod: not pod.node_name)
        if replicas <= len(order):
            return self._ended({key_of(pod): None for pod in order[replicas:]})
        first = order[0].metadata
        model = manifest_builders.unbound(self._known("Pod", key_of(order[0])[1]).manifest())
        taken = {pod.metadata.name for pod in self.pods if pod.metadata.namespace == first.namespace}
        return self._claimed(order[0], _copies(model, first.name, taken, replicas - len(order)))

    def with_manifest(self, kind: str, name: str, manifest: Manifest) -> Self:
        """With another manifest for an object: its kind, and ``namespace/name`` or the name, stay.

        >>> from kubescheduler import node
        >>> Cluster().node("a").with_manifest("Node", "a", node("a", cpu=8)).nodes[0].allocatable["cpu"]
        8000
        """
        key = self._known(kind, name).key
        where = manifest.get("spec")
        if kind == "Pod" and isinstance(where, Mapping) and where.get("nodeName"):
            self._known("Node", str(where["nodeName"]))
        out = self._changed({key: lambda _: {**manifest, "kind": kind}})
        try:
            out._known(*key)
        except DecodeError as error:
            text = f"{kind} {key[1]}: metadata: name and namespace cannot be changed; add another and remove this one"
            raise DecodeError(text) from error
        return out

    # --- for what decides --------------------------------------------------------------------

    def cache(self, view: ReleaseView | None = None) -> ClusterCache:
        """A fresh cache for one scheduler; view: its engine's, by default the release's."""
        return filled_cache(self.objects, release_named(self._release).default_view if view is None else view)

    def utilisation(self) -> ClusterUtilisation:
        """How much of each node the running pods ask for: rows that print as a table with bars, also in a notebook.

        ``of(node)`` and ``to_frame()`` have the shares.

        >>> cluster = Cluster().node("a", cpu=4, memory="8Gi", pods=10).pod("web", node="a", cpu="500m", memory="2Gi")
        >>> print(cluster.utilisation())
        1 node: what is asked for
        node  resource  asked for   share
        a     cpu       500m of 4   12%    █░░░░░░░░░
        a     memory    2Gi of 8Gi  25%    ██░░░░░░░░
        a     pods      1 of 10     10%    █░░░░░░░░░
        """
        from kubescheduler.simulation.simulation_report import utilisation_of

        return utilisation_of(self.cache())

    def with_accompanying(self, accompanying: Iterable[ReadObject]) -> Self:
        """With decoded objects, each in place of one with its kind and name; see ``PodsToPlace.accompanying``.

        >>> Cluster().with_accompanying(Cluster().to_place([{"spec": {}, "metadata": {"name": "a"}}]).accompanying)
        <Cluster of release 1.16: 0 nodes, 0 pods>
        """
        new = [Entry(obj, "" if item is None else item.source, item) for obj, item in accompanying]
        return self._of(Entries((*self._entries, *new)), new=new) if new else self

    def replaced(self, objects: Iterable[ClusterObject]) -> Self:
        """With decoded objects in place of those with their names."""
        by_key = {key_of(obj): obj for obj in objects}
        return self._of(
            Entries(Entry(by_key[entry.key], entry.source) if entry.key in by_key else entry for entry in self._entries)
        )

    def pods_from(
        self,
        given: Any,
        what: str = "pods",
        *,
        validate: Judgement | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> list[Pod]:
        """The pods to decide: names of pods of the cluster, file names, manifests, texts, objects, one or several.

        They are filled in as the release does it, by what admission reads in the cluster (see ``add``); those of a
        controller (a Deployment, Job, DaemonSet …) are made by its template. What else is given, a Service say, is read
        and passed over here. what: their name in errors. validate: what fields that nobody knows are, by default as for
        the cluster. notice: is called with what was left out and, for ``"warn"``, with such fields; by default that is
        a warning of Python's. Raises DecodeError with every fault; a pod that runs in the cluster already is one.

        >>> Cluster().pods_from({"metadata": {"name": "web"}, "spec": {}})[0].key
        'default/web'
        """
        to_place = self.to_place(given, what, validate=validate)
        for note in to_place.notes:
            warnings.warn(note, UserWarning, stacklevel=2) if notice is None else notice(note)
        return to_place.pods

    def to_place(
        self,
        given: Any,
        what: str = "pods",
        *,
        validate: Judgement | None = None,
        daemons: DaemonController | None = None,
        running: bool = False,
    ) -> PodsToPlace:
        """The pods to decide, and what else is given with them, which has to be in the cluster; see ``pods_from``.

        Its ``notes`` are for the caller to tell. daemons: what makes the pods of DaemonSets, by default the release's
        controller. running: a pod that runs in the cluster may be asked about.

        >>> spec = {"template": {"spec": {"containers": [{"name": "c"}]}}}
        >>> agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}
        >>> [pod.key for pod in Cluster().node("a").node("b").to_place(agent).pods]
        ['default/agent-a', 'default/agent-b']
        """
        strictness = strictness_of(validate, self._strictness).under(self._strictness.accepted)
        return self.asking(strictness, daemons, running=running).read(given, what)

    def asking(self, strictness: Strictness, daemons: DaemonController | None, *, running: bool) -> PodAsking:
        """What reads the pods to decide; see ``to_place``."""
        find, admitting = partial(self._find, "Pod"), self._admitting
        return PodAsking(self, find, admitting, self._release, self._defaulting, strictness, daemons, running)

    # --- inside ------------------------------------------------------------------------------

    def _find(self, kind: str, name: str) -> Entry | None:
        checked_name(name, kind)
        entry = self._entries.find((kind, name))
        return entry if entry is not None or "/" in name else self._entries.find((kind, f"default/{name}"))

    def _known(self, kind: str, name: str) -> Entry:
        """Raises DecodeError for a name that is not there, with the nearest that is."""
        found = self._find(kind, name)
        if found is not None:
            return found
        close = nearest_name(name, (key[1] for entry in self._entries if (key := entry.key)[0] == kind))
        raise DecodeError(f"there is no {kind.lower()} {name} in the cluster{close}")

    def _nodes(self, names: Any, edit: Edit) -> Self:
        return self._changed({self._known("Node", name).key: edit for name in names})

    def _pods_off(self, names: Any) -> dict[Key, Edit | None]:
        """What becomes of the pods of nodes that go."""
        there = [pod for pod in self.pods if pod.node_name in set(names)]
        gone = (stays_on_node(pod) or pod.phase in TERMINATED for pod in there)
        return {key_of(pod): None if goes else manifest_builders.unbound for pod, goes in zip(there, gone, strict=True)}

    def _replicas(self, name: str) -> list[Pod]:
        full = name if "/" in name else f"default/{name}"
        namespace, _, short = full.rpartition("/")
        owned = [
            pod
            for pod in self.pods
            if pod.metadata.namespace == namespace
            and any(owner.controller and owner.name == short for owner in pod.metadata.owner_references)
        ]
        if owned:
            return owned
        found = self._known("Pod", name).obj
        if not isinstance(found, Pod):
            raise DecodeError(f"{name} is no pod")
        return [found]

    def _with(self, given: Given, progress: Progress | None = None, *, meets: bool = True) -> Self:
        """With more; every fault at once. meets: with what controllers make for it."""
        try:
            entries, notes = self._decoded(given, progress)
        except UnreadableManifests as error:
            there = [*((entry.source, entry.obj) for entry in self._entries), *(("", obj) for obj in given.objects)]
            raise error.with_references(there) from error
        out = self._of(self._entries.added(entries), notes, entries)
        out._daemon_sets += tuple(item for item in given.items if kind_of(item) == "DaemonSet")
        if self._defaulting and meets:
            out = out._met(entries)
        named = {entry.obj.node_name for entry in entries if isinstance(entry.obj, Pod)}
        lost = any(name and out._entries.find(("Node", name)) is None for name in named)
        if lost and (problems := check_references((entry.source, entry.obj) for entry in out._entries)):
            raise DecodeError(problem.removeprefix(": ") for problem in problems)
        return out

    def _met(self, entries: Sequence[Entry]) -> Self:
        """With what controllers make of claims, and for pods, that somebody has just written."""
        release = release_named(self._release)
        made = met_claims((entry.obj for entry in entries), lambda: self, release)
        out = self.with_accompanying((obj, None) for obj in made) if made else self
        new = [entry for entry in entries if is_new(entry.obj)]
        if not new:
            return out
        problems: list[str] = []
        controllers = ClaimControllers(lambda: out, release, problems)
        claimed: dict[Key, Entry] = {}
        for entry in new:
            assert isinstance(entry.obj, Pod)
            pod = controllers.claimed(entry.obj, entry.source)
            if pod is not entry.obj:
                item = None if entry.item is None else Item(entry.source, with_claims_of(entry.manifest(), pod, pod))
                claimed[entry.key] = Entry(pod, entry.source, item)
        if problems:
            raise DecodeError(problems)
        every = Entries(claimed.get(entry.key, entry) for entry in out._entries) if claimed else out._entries
        accompanying = [Entry(obj) for obj in controllers.made]
        return out._of(every.added(accompanying), controllers.notes)

    def _decoded(self, given: Given, progress: Progress | None = None) -> tuple[list[Entry], list[str]]:
        return decoded(
            given,
            self._release,
            admitting=self._admitting,
            defaulting=self._defaulting,
            keep_manifests=self._keeps_manifests,
            progress=progress,
            strictness=self._strictness,
        )

    def _of(self, entries: Entries, notes: Sequence[str] = (), new: Iterable[Entry] = ()) -> Self:
        """A cluster of these entries; of the new ones those of admission are noted."""
        out = type(self).__new__(type(self))
        out._release, out._defaulting, out._keeps_manifests = self._release, self._defaulting, self._keeps_manifests
        out._strictness, out._daemon_sets = self._strictness, self._daemon_sets
        out._entries, out._notes = entries, tuple(dict.fromkeys((*self._notes, *notes)))
        admitting = (entry.obj for entry in new if isinstance(entry.obj, AdmissionObject))
        out._admitting = (*self._admitting, *admitting)
        return out

    def _changed(self, changes: Mapping[Key, Edit | None]) -> Self:
        """With some objects edited, by their keys; None takes one away. Raises DecodeError for an edit that faults."""
        edited = {
            entry.key: Item(entry.source, change(entry.manifest()))
            for entry in self._entries
            if (change := changes.get(entry.key)) is not None
        }
        fresh, _ = decoded(
            Given(list(edited.values())),
            self._release,
            admitting=self._admitting,
            defaulting=self._defaulting,
            keep_manifests=self._keeps_manifests,
        )
        by_key = dict(zip(edited, fresh, strict=True))
        kept = (entry for entry in self._entries if changes.get(entry.key, entry) is not None)
        return self._of(Entries(by_key.get(entry.key, entry) for entry in kept))

    def _ended(self, changes: Mapping[Key, Edit | None]) -> Self:
        """As ``_changed``, with what becomes of claims when the pods among these end; those that are edited come
        again under their names."""
        objects = self._beside_pods()
        after: dict[Key, Any] = {}
        for kind, name in changes:
            pod = self._known(kind, name).obj
            if not isinstance(pod, Pod):
                continue
            again = [] if changes[kind, name] is None else made_for(pod, pod, objects)[1]
            for before, now in [*given_back(pod, objects), *((None, obj) for obj in again)]:
                objects.take(before) if now is None else objects.put(now)
                after[key_of(before if now is None else now)] = now
        gone = {key: None for key, now in after.items() if now is None}
        return self._changed({**changes, **gone}).with_accompanying((now, None) for now in after.values() if now)

    def _claimed(self, model: Pod, copies: Iterable[Manifest]) -> Self:
        """With copies of a pod, and what controllers make for each if they did for that one."""
        objects, out = self._beside_pods(), self._with(found_in(list(copies)), meets=False)
        edits: dict[Key, Edit | None] = {}
        new: list[ClusterObject] = []
        for copy in out.pods[len(self.pods) :]:
            pod, made = made_for(model, copy, objects)
            for obj in made:
                objects.put(obj)
            new += made
            if made:
                edits[key_of(copy)] = partial(with_claims_of, before=model, now=pod)
        return out._changed(edits).with_accompanying((obj, None) for obj in new) if edits else out

    def _beside_pods(self) -> ClusterObjects:
        """Everything but nodes and pods."""
        out = ClusterObjects()
        for entry in self._entries:
            if type(entry.obj) in KEPT:
                out.put(entry.obj)
        return out


def _copies(manifest: Manifest, name: str, taken: Set[str], count: int) -> list[Manifest]:
    """So many of the same, called by the first names with a number that are free."""
    free = (fresh for number in itertools.count(1) if (fresh := f"{name}-{number}") not in taken)
    return [manifest_builders.renamed(fresh)(manifest) for fresh in itertools.islice(free, count)]


def stays_on_node(pod: Pod) -> bool:
    """Whether the pod belongs to its node, as those of a DaemonSet do, and is not made anew elsewhere."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind in ("DaemonSet", "Node")
