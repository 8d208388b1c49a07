"""Decisions as text: in a word or a line, in tables, as names, as documents in JSON and YAML, as cases for CI.

Also what is said of pods that nobody knows the right node of: an error ended their attempts, or an extender did not
answer. What ``--explain`` adds is in ``explanation``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from kubescheduler.cli.output import ERROR, NONE, PLAIN, Screen, Toned, headed, list_document, noted, table
from kubescheduler.core.decision import Decision, gave_up, undecided, went_on_without
from kubescheduler.core.results import counted
from kubescheduler.sources.untrusted import one_line, shown

if TYPE_CHECKING:
    from kubescheduler.planning.rehearsal import Displaced
    from kubescheduler.report.ci_results import CiCase, Suite


def message_line(decision: Decision) -> str:
    """The message in one line, and what preemption would do if that was asked for."""
    message = "; ".join(decision.message.split("\n")).rstrip("; ")
    return " ".join(part for part in (message, would_evict(decision)) if part)


def would_evict(decision: Decision) -> str:
    """The victims on the node that the release would pick, the first by name if it may pick several."""
    preemption = decision.preemption
    if preemption is None:
        return ""
    if not preemption.chosen:
        return "" if decision.post_filter_message else "Preemption would not help."
    node = preemption.chosen[0]
    victims = ", ".join(pod.key for pod in preemption.candidates[node].pods)
    return f"Would evict {victims} from {node}." if victims else f"Would wait for {node}, evicting nothing."


def fits(decision: Decision) -> str:
    """``3/5``: nodes that fit, of those there are; ``<none>`` where nobody looked, or an error ended that."""
    return NONE if gave_up(decision) or not decision.tried else f"{len(decision.feasible)}/{decision.nodes_total}"


def best(decision: Decision) -> list[str]:
    """The only node that fits is the best, though it is not scored."""
    return decision.best() or ([decision.host] if decision.host else [])


NAMED = 3
"""Pods that a message names."""
SHOWN = 5
"""Texts of errors that are shown; further ones are counted."""


def exit_status(failed: Iterable[tuple[str, str]], *, fine: bool) -> int:
    """0 where the answer is yes, 1 where it is no, 2 where errors ended attempts: it says on standard error which ended
    those of which pods, each text once.

    failed: (namespace/name of the pod, text of the error). fine: whether the answer is yes.
    """
    pods: dict[str, list[str]] = {}
    for pod, text in failed:
        pods.setdefault(text, []).append(pod)
    for text, names in list(pods.items())[:SHOWN]:
        named = ", ".join(dict.fromkeys(names[:NAMED]))
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        click.echo(f"error: no decision on {shown(named)}{more}: {shown(text)}", err=True)
    if (left := len(pods) - SHOWN) > 0:
        click.echo(f"error: {counted(left, 'more error')} ended attempts", err=True)
    return 2 if pods else int(not fine)


def displaced_status(answers: Sequence[Displaced], *, fine: bool) -> int:
    """The exit status where pods had to leave their nodes; it is told which keep that from being answered.

    fine: whether the answer is yes.
    """
    undecided = (each for one in answers for each in one.undecided)
    return exit_status([(each.now.key, each.message) for each in undecided if each.now is not None], fine=fine)


class PassedOverExtenders(msgspec.Struct, eq=False):
    """The extenders that did not answer and that the release went on without."""

    _pods: dict[str, set[str]] = msgspec.field(default_factory=dict)

    def note(self, decision: Decision) -> None:
        """Notes what a decision lacks; nothing of one that an error ended."""
        for text in went_on_without(decision, True, False):
            self._pods.setdefault(text, set()).add(decision.pod.key)

    def remarks(self) -> list[str]:
        """A sentence for each error, with the number of pods that were decided without the extender."""
        counts = {text: len(pods) for text, pods in self._pods.items()}
        return [f"{text} ({count} {'pod' if count == 1 else 'pods'})" for text, count in counts.items()]


Explain = Callable[[Decision, Screen], str]
"""What ``--explain`` shows of a decision."""

SHORT = ("NAMESPACE", "POD", "NODE", "FITS", "MESSAGE")
WIDE = ("NAMESPACE", "POD", "NODE", "FITS", "TOTAL", "TIED", "RELEASE", "MESSAGE")


def rendered(
    decisions: Iterable[Any],
    output: str,
    screen: Screen,
    notes: Sequence[str],
    explain: Explain | None,
    document: Callable[[Decision], Mapping[str, Any]],
) -> Iterator[str]:
    """Decisions as text in pieces, as they come; output: table, wide, json, yaml or name. notes: on all decisions.
    document: makes what JSON and YAML have of each. Without ``explain`` they may also be placements in bulk.

    Of a pod whose attempt an error ended there is no name, and the table says ``<error>``. A table comes last, after
    the explanations, when it is known how wide it is.
    """
    if output in ("json", "yaml"):
        yield from list_document(headed("DecisionList", notes), map(document, decisions), output)
    elif output == "name":
        answers = (decision for decision in decisions if is_placement(decision) or not gave_up(decision))
        yield from (f"{one_line(decision.pod.key)} {one_line(decision.host or NONE)}\n" for decision in answers)
    else:
        rows: list[tuple[str, ...]] = [WIDE if output == "wide" else SHORT]
        every_note = dict.fromkeys(notes)
        for decision in decisions:
            every_note.update(dict.fromkeys(decision.notes))
            if explain is not None:
                yield explain(decision, screen) + "\n\n"
            rows.append(_row(decision, wide=output == "wide"))
        if len(rows) > 1:
            yield noted(every_note, screen)
            yield table(rows, screen, gives_way=len(rows[0]) - 1) + "\n"


def is_placement(answer: Any) -> bool:
    """Whether it is a pod that was placed in bulk, of which there is no Decision."""
    return not isinstance(answer, Decision)


def _row(answer: Any, *, wide: bool) -> tuple[str, ...]:
    """Of a decision, or of a pod that was placed in bulk."""
    namespace, name = answer.pod.metadata.namespace or NONE, answer.pod.metadata.name
    if is_placement(answer):
        run = answer.run
        total = NONE if answer.total is None else str(answer.total)
        more = (total, str(answer.tied), run.release) if wide else ()
        return (namespace, name, Toned(answer.host, "good"), f"{answer.fits}/{run.nodes_total}", *more, "")
    gone = gave_up(answer)
    host = Toned(ERROR if gone else answer.host or NONE, "good" if answer.host and not gone else "bad")
    if wide:
        total = str(int(answer.totals.max())) if len(answer.totals) else NONE
        more = (total, NONE if gone else str(len(best(answer))), answer.release)
    else:
        more = ()
    return (namespace, name, host, fits(answer), *more, message_line(answer))


def decision_document(decision: Decision) -> dict[str, Any]:
    """A decision as plain data: the parts of the evaluate protocol, the pod and the host."""
    from kubescheduler.engine.evaluate_protocol import result_of

    metadata = decision.pod.metadata
    pod = {"namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
    result = {**result_of(decision), "best": best(decision)}
    rejected = decision.pre_filter_rejection
    if rejected is not None:
        result["preFilter"] = {
            "plugin": rejected.plugin,
            "code": rejected.code.name,
            "reasons": list(rejected.all_reasons),
        }
    notes = {"notes": list(decision.notes)} if decision.notes else {}
    return {
        "pod": pod,
        "release": decision.release,
        "host": decision.host,
        "message": decision.message,
        **notes,
        **result,
    }


def decided_suite(
    release: str,
    decisions: Iterable[Any],
    workloads: Sequence[str],
    explain: Explain | None,
    notes: Sequence[str],
) -> Suite:
    """Decisions for CI: a case per pod, which fails without a node. workloads: ``Kind/name`` of each pod's."""
    from kubescheduler.report.ci_results import Suite

    every_note, cases = dict.fromkeys(notes), []
    for decision, workload in zip(decisions, workloads, strict=True):
        every_note.update(dict.fromkeys(decision.notes))
        cases.append(_decided_case(decision, workload, explain))
    return Suite(release, cases, tuple(every_note))


def _decided_case(decision: Any, workload: str, explain: Explain | None) -> CiCase:
    from kubescheduler.report.ci_results import CiCase, Standing

    metadata = decision.pod.metadata
    group = f"{metadata.namespace or 'default'}.{workload}"
    if is_placement(decision):
        return CiCase(group, metadata.name)
    text = "" if explain is None else explain(decision, PLAIN)
    if decision.host is not None:
        return CiCase(group, metadata.name, text=text)
    message = message_line(decision)
    if undecided(decision):
        return CiCase(group, metadata.name, Standing.ERROR, "error", message, text or message)
    return CiCase(group, metadata.name, Standing.FAILED, "no-node", message, text or message)
