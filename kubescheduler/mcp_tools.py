"""What an assistant may ask: each tool takes plain arguments, gives plain data, and changes nothing.

A tool names no file and no server: the cluster was named when the process was started. A Policy or configuration is
given as an object, and may not name HTTP extenders, which would be asked. ``server_of`` serves them by the Model
Context Protocol, whose SDK is imported there.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

import kubescheduler as ks
from clusterstate.errors import ClusterStateError, InputError, nearest
from kubescheduler.api.cluster import Cluster
from kubescheduler.api.why import named_pod
from kubescheduler.comparison.comparison import headline, workload_document
from kubescheduler.core.decision import Decision

if TYPE_CHECKING:
    import anyio
    from mcp.server import MCPServer
    from mcp.server.mcpserver.tools import Tool

Answer = dict[str, Any]
Objects = list[dict[str, Any]]
Document = dict[str, Any]

MOST_NAMED = 20
"""Nodes, pods or workloads that an answer lists, unless it is asked for fewer."""
EVIDENCE = 3
"""Refused nodes of which an answer has the numbers."""
MOST_ROOM = 10_000
"""Pods after which ``capacity`` stops counting."""
ASKING = ("extenders", "extenderConfigs")
"""Keys of a Policy or configuration by which HTTP servers are asked."""


class Tools:
    """The tools, over one cluster and what decides there."""

    def __init__(
        self, read: Callable[[str], Cluster], release: str, decided_by: Mapping[str, Any], folder: Path | None = None
    ) -> None:
        """read: the cluster as it is now, of a release. decided_by: arguments of a Scheduler, of that release. folder:
        where files of other clusters may be named."""
        self._read, self._release, self._decided_by = read, release, decided_by
        self._folder = None if folder is None else folder.resolve()

    def decide(
        self,
        pod: str | Document,
        release: str | None = None,
        policy: Document | None = None,
        config: Document | None = None,
        top: int = 5,
        cluster: str | None = None,
    ) -> Answer:
        """Where a pod goes, and why: totals and scores of the best nodes, and what keeps it from the others.

        pod: a Pod manifest, or the name (namespace/name) of a pending pod of the cluster. release, policy, config:
        decide by these instead of by what the server was started with. top: so many nodes are listed.
        """
        there, options = self._asked(release, policy, config, cluster)
        decision = ks.Scheduler(there, **options).decide(_pod(there, pod), preempt=True)
        return decided(decision, _few(top))

    def why(
        self,
        pod: str,
        release: str | None = None,
        policy: Document | None = None,
        config: Document | None = None,
        cluster: str | None = None,
    ) -> Answer:
        """Why a pod of the cluster is where it is, or nowhere: what its scheduler would do with it now.

        pod: its name, as namespace/name.
        """
        there, options = self._asked(release, policy, config, cluster)
        answer = ks.why(there, pod, top=5, **options)
        return {**answer.to_dict(), "decision": decided(answer.decision, 5)}

    def hint(
        self,
        pod: str | Document,
        node: str | None = None,
        release: str | None = None,
        top: int = 5,
        cluster: str | None = None,
    ) -> Answer:
        """The smallest changes after which a pod that fits nowhere fits, or would go to a node; each was tried.

        pod: a Pod manifest, or the name of a pending pod. node: where it is to go.
        """
        there, options = self._asked(release, None, None, cluster)
        hints = ks.hints(there, _pod(there, pod), node, top=_few(top), **options)
        if hints.foreign:
            raise InputError(hints.message)
        return {"hints": [hint.to_dict() for hint in hints]}

    def compare(
        self,
        release: str | None = None,
        policy: Document | None = None,
        config: Document | None = None,
        running: str | None = None,
        top: int = MOST_NAMED,
        cluster: str | None = None,
    ) -> Answer:
        """Which pods would go elsewhere under another release, Policy or configuration than the server's, and why.

        One of release, policy and config is needed. running: a selector of running pods to decide anew (app=web,
        deployment/web); without it pending pods are asked about. top: so many workloads are listed, those with most
        moves first.
        """
        if release is None and policy is None and config is None:
            raise InputError("say what to compare with: release, policy or config")
        there = self._cluster(None, cluster)
        new = {"release": release or self._release, **_documents(policy, config)}
        old = {"release": self._release, **self._decided_by}
        comparison = ks.compare(there, old=old, new=new, running=running or False)
        differing = [each for each in comparison.workloads if each.differs]
        return {
            "text": headline(comparison),
            "pods": len(comparison.pods),
            "moved": len(comparison.moved),
            "workloads": [workload_document(comparison.names, each) for each in differing[: _few(top)]],
            "notes": list(comparison.notes),
        }

    def capacity(self, pod: Document, release: str | None = None, top: int = 10, cluster: str | None = None) -> Answer:
        """How many more pods of a manifest fit, and what stops the next one."""
        there, options = self._asked(release, None, None, cluster)
        room = ks.capacity(there, pod, limit=MOST_ROOM, **options)
        if room.error is not None:
            raise InputError(room.error)
        fullest = sorted(room.placed, key=lambda name: (-room.placed[name], name))
        return {
            "pods": room.count,
            "orMore": room.limited,
            "nodes": {name: room.placed[name] for name in fullest[: _few(top)]},
            "stoppedBy": room.message or None,
        }

    def drain(  # noqa: PLR0913, PLR0917
        self,
        nodes: list[str],
        ignore_daemonsets: bool = True,
        delete_emptydir_data: bool = False,
        force: bool = False,
        order: bool = False,
        batch: int = 1,
        surge: int = 0,
        shape: Document | None = None,
        kubernetes_upgrade: str | None = None,
        release: str | None = None,
        cluster: str | None = None,
    ) -> Answer:
        """What happens when nodes are drained as kubectl drain does it: where each pod runs then, or why nowhere, and
        which disruption budgets refuse. Nothing is drained.

        order: find an order, in batches of ``batch`` nodes, in which every budget holds and every pod runs again.
        surge: with order, so many nodes of a shape such as {"name": "spare", "cpu": 4, "memory": "16Gi"} come first.
        kubernetes_upgrade: with order, "1.35:1.36": each node comes back after its step with the later kubelet.
        """
        there, options = self._asked(release, None, None, cluster)
        how: dict[str, Any] = {"ignore_daemonsets": ignore_daemonsets, "delete_emptydir_data": delete_emptydir_data}
        how |= {"order": order, "batch": batch, "surge": surge, "kubernetes_upgrade": kubernetes_upgrade}
        shapes = None if shape is None else [shape]
        try:
            return ks.drain(there, *nodes, force=force, shape=shapes, **how, **options).to_dict()
        except InputError as error:
            raise InputError(map(_as_argument, error.problems)) from None

    def outage(
        self,
        nodes: list[str] | None = None,
        zone: str | None = None,
        each: str | None = None,
        unreachable: bool = False,
        release: str | None = None,
        cluster: str | None = None,
    ) -> Answer:
        """What happens when nodes, or a zone, are gone at once: what runs again and where, what does not and why.

        each: zone, region, hostname or a label of nodes: every domain in turn, the worst first, instead of ``nodes``
        and ``zone``. unreachable: the nodes' objects stay, so that StatefulSets make no other pods.
        """
        there, options = self._asked(release, None, None, cluster)
        if each is None:
            answer = ks.outage(there, *(nodes or ()), zone=zone, unreachable=unreachable, **options).to_dict()
            return {**answer, "notes": list(map(_as_argument, answer["notes"]))}
        if nodes or zone is not None:
            raise InputError("each: is asked for instead of nodes and zone")
        found = ks.outages(there, each, unreachable=unreachable, **options)
        return {
            "survives": found.fine,
            "domains": [
                {
                    "name": one.name,
                    "survives": one.fine,
                    "nodes": len(one.nodes),
                    "counts": one.counts(),
                    "missing": dict(one.missing().most_common(MOST_NAMED)),
                }
                for one in found.domains
            ],
            "notes": list(map(_as_argument, found.notes)),
        }

    def nodes(
        self,
        shapes: Objects,
        workload: Objects | None = None,
        as_cluster_autoscaler: bool = False,
        release: str | None = None,
        cluster: str | None = None,
    ) -> Answer:
        """Which nodes to add so that everything runs: the fewest, or with prices the cheapest.

        shapes: entries such as {"name": "small", "cpu": 4, "memory": "16Gi", "price": 1, "max": 3}, or Node manifests.
        workload: manifests that are to run; without it the cluster's pending pods.
        """
        there, options = self._asked(release, None, None, cluster)
        by = "cluster-autoscaler" if as_cluster_autoscaler else "scheduler"
        return ks.nodes(there, shapes, workload, by=by, **options).to_dict()

    def explain(self, rule: str, release: str | None = None) -> Answer:
        """What a predicate, priority or plugin does, or which rules give a reason; as a release has it, or all."""
        from kubescheduler.report.rule_pages import all_pages, of_release, pages_about

        pages = all_pages()
        found = pages_about(rule.strip(), pages) if rule.strip() else []
        if release is not None:
            found = [own for page in found if (own := of_release(page, self._named(release))) is not None]
        if not found:
            names = sorted({page.name for page in pages})
            raise InputError(f"no predicate, priority, plugin or reason is {rule!r}{nearest(rule, names)}")
        return {
            "rules": [
                {
                    "name": page.name,
                    "kind": page.kind,
                    "releases": list(page.releases),
                    "text": page.text,
                    "facts": list(page.facts),
                    "reasons": dict(page.reasons),
                }
                for page in found[:MOST_NAMED]
            ]
        }

    def registry(self, release: str | None = None) -> Answer:
        """The predicates, priorities and plugins that a release has, by name."""
        from kubescheduler.report.rule_pages import all_pages

        named = self._named(release or self._release)
        kinds: dict[str, list[str]] = {}
        for page in all_pages():
            if named in page.releases:
                kinds.setdefault(page.kind, []).append(page.name)
        return {"release": named, "rules": {kind: sorted(names) for kind, names in kinds.items()}}

    # --- what is asked about -----------------------------------------------------------------

    def _asked(
        self, release: str | None, policy: Document | None, config: Document | None, cluster: str | None
    ) -> tuple[Cluster, dict[str, Any]]:
        """(the cluster, what decides there). Raises InputError."""
        documents = _documents(policy, config)
        there = self._cluster(release, cluster)
        if documents or (release is not None and there.release != self._release):
            return there, documents
        return there, dict(self._decided_by)

    def _cluster(self, release: str | None, file: str | None) -> Cluster:
        named = self._release if release is None else self._named(release)
        return self._read(named) if file is None else Cluster.read(self._allowed(file), release=named)

    def _allowed(self, file: str) -> str:
        """A file below the folder, links followed. Raises InputError."""
        if self._folder is None:
            raise InputError("cluster: this server was started for one cluster, without --allow-paths")
        path = Path(os.path.realpath(self._folder / file))
        if not path.is_relative_to(self._folder):
            raise InputError(f"cluster: {file} is not in the folder that the server was started with")
        if not path.is_file():
            raise InputError(f"cluster: there is no file {file}")
        return str(path)

    @staticmethod
    def _named(release: str) -> str:
        from kubescheduler.releases.lookup import release_named

        return release_named(release).name


def _documents(policy: Document | None, config: Document | None) -> dict[str, Any]:
    """Arguments of a Scheduler. Raises InputError for one that would ask HTTP servers."""
    given = {name: document for name, document in (("policy", policy), ("config", config)) if document is not None}
    named = ((name, key) for name, document in given.items() for key in ASKING if document.get(key))
    asking = [f"{name}: {key}: HTTP extenders are not asked" for name, key in named]
    if asking:
        raise InputError(asking)
    return given


def _pod(cluster: Cluster, pod: str | Document) -> Any:
    """A pending pod of the cluster, or a manifest. Raises InputError."""
    if not isinstance(pod, str):
        return pod
    if ":" in pod or "\n" in pod:
        raise InputError("pod: expected a name or a manifest, found text that is no name: give a manifest as an object")
    named = named_pod(cluster, pod)
    if named.node_name:
        raise InputError(f"pod {named.key} runs on {named.node_name}: ask why it is there")
    return named


def _as_argument(problem: str) -> str:
    """A fault with the arguments of a tool in place of kubectl's flags and Python's."""
    flags = re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda flag: f"{flag[1].replace('-', '_')}: true", problem)
    return flags.replace("order=True", "order: true")


def _few(number: int) -> int:
    return max(1, min(number, MOST_NAMED))


def decided(decision: Decision, top: int) -> Answer:
    """A decision in short: the best nodes with their scores, the reasons counted, the numbers of some refused nodes."""
    total, reasons = decision.total(), decision.reasons()
    best = sorted(total, key=lambda node: (node != decision.host, -total[node], node))[:top]
    counts = Counter(text for texts in reasons.values() for text in texts)
    preemption = decision.preemption
    victims: dict[str, list[str]] = {}
    if preemption is not None and preemption.chosen:
        node = preemption.chosen[0]
        victims[node] = [pod.key for pod in preemption.candidates[node].pods]
    return {
        "pod": decision.pod.key,
        "release": decision.release,
        "node": decision.host,
        "message": decision.message,
        "fit": len(decision.fits()) if decision.tried else None,
        "nodes": decision.nodes_total,
        "best": [
            {"node": node, "total": total[node], "scores": _of_scores(decision, node, "product")} for node in best
        ],
        "formulas": {} if not best else _of_scores(decision, best[0], "formula"),
        "refused": dict(counts.most_common(top)),
        "evidence": {node: decision.why(node).to_dict()["refusals"] for node in list(reasons)[:EVIDENCE]},
        "wouldEvict": victims,
    }


def _of_scores(decision: Decision, node: str, what: str) -> dict[str, Any]:
    """Rule → ``product``, what it adds to the node's total, or ``formula``, its score as one with its numbers, before
    it is normalised and weighted."""
    return {each["rule"]: each[what] for each in decision.why(node).to_dict()["scores"]}


# --- served ------------------------------------------------------------------------------------

NAMES = ("decide", "why", "hint", "compare", "capacity", "drain", "outage", "nodes", "explain", "registry")
"""The tools, in the order in which they are listed."""
INSTRUCTIONS = """\
Answers are those of Kubernetes' scheduler, exactly as the cluster's release decides, over the cluster that the server
was started for. Nothing is changed there. Quote messages and numbers as they are; where an answer has a "why", a
"message" or "evidence", that is the reason."""
LARGEST = 1 << 20
"""Bytes of a call's arguments, and of an answer."""


def server_of(tools: Tools, patience: float) -> MCPServer[Any]:
    """A server with all tools. patience: seconds after which a call is given up."""
    import anyio
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    # One call at a time: what is given up cannot be stopped, and more of it would only take longer.
    turn = anyio.CapacityLimiter(1)
    asking = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    served = []
    for name in NAMES:
        tool = _checking_tool().from_function(_served(getattr(tools, name), turn, patience), name, annotations=asking)
        tool.parameters["additionalProperties"] = False
        served.append(tool)
    return MCPServer(
        "kubescheduler", version=ks.__version__, instructions=INSTRUCTIONS, log_level="WARNING", tools=served
    )


@functools.cache
def _checking_tool() -> type[Tool]:
    """A tool that says what is wrong with its arguments; the SDK drops those it does not know."""
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool

    class CheckingTool(Tool):
        async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
            given = self.fn_metadata.pre_parse_json(arguments)
            if problems := list(wrong_arguments(inspect.unwrap(self.fn), given)):
                raise ToolError("\n".join(problems))
            return await super().run(arguments, context, convert_result)

    return CheckingTool


def wrong_arguments(tool: Callable[..., Answer], given: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the arguments of a call, a line each with its path."""
    hints = {name: hint for name, hint in get_type_hints(tool).items() if name != "return"}
    for name, value in given.items():
        if name not in hints:
            yield f"{name}: there is no such argument{nearest(name, hints)}"
            continue
        try:
            msgspec.convert(value, hints[name], strict=False)
        except msgspec.ValidationError as error:
            text, _, path = str(error).partition(" - at `$")
            yield f"{name}{path.rstrip('`')}: {text[0].lower()}{text[1:]}".replace("`", "")
    needed = (each.name for each in inspect.signature(tool).parameters.values() if each.default is each.empty)
    yield from (f"{name}: missing" for name in needed if name not in given and name != "self")


def _served(tool: Callable[..., Answer], turn: anyio.CapacityLimiter, patience: float) -> Callable[..., Any]:
    import anyio
    import anyio.to_thread
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    async def called(**arguments: Any) -> Answer:
        if len(msgspec.json.encode(arguments)) > LARGEST:
            raise ToolError(f"the arguments are larger than {LARGEST:,} bytes")
        try:
            with anyio.fail_after(patience):
                answer = await anyio.to_thread.run_sync(
                    functools.partial(tool, **arguments), limiter=turn, abandon_on_cancel=True
                )
        except TimeoutError:
            raise ToolError(f"no answer within {patience:g} s: ask about less, or set --patience higher") from None
        except InputError as error:
            raise ToolError("\n".join(error.problems)) from None
        except ClusterStateError as error:
            raise ToolError(str(error)) from None
        size = len(msgspec.json.encode(answer))
        if size > LARGEST:
            raise ToolError(f"the answer has {size:,} bytes, more than {LARGEST:,}: ask about less")
        return answer

    return called
