"""What becomes of the feature gates that an older kube-scheduler is started with."""

from __future__ import annotations

from collections.abc import Iterator

from kubescheduler.config.gate_records import Gate
from kubescheduler.config.gates import ReleaseGates, gate_pairs
from kubescheduler.translate.translation_model import Note, NoteKind
from kubescheduler.translate.upgrade.target_process import TargetProcess

GIVEN_UP = ("BalanceAttachedNodeVolumes", "ResourceLimitsPriorityFunction")
"""Gates whose feature was removed with them. The features of all others that are gone are always on."""


def known_gates(text: str, gates: ReleaseGates) -> str:
    """The pairs of ``--feature-gates`` that a release with this table starts with and decides by.

    Others are of components that have nothing to do with pods. Raises ConfigError for no boolean.
    """
    names = {*gates.gates, *gates.stages.values()}
    pairs = (f"{name}={word}" for name, word in gate_pairs(text) if name in names)
    locked = locked_gates(text, gates)
    return ",".join(pair for pair in pairs if pair not in locked)


def staying_gates(text: str, target: TargetProcess) -> str:
    """The pairs that the target still takes, as its ``--feature-gates``; empty for none."""
    kept = []
    for name, word in gate_pairs(text):
        gate = _gate(name, target.gates)
        if name in target.gates.stages.values() or (gate is not None and not gate.locked):
            kept.append(f"{name}={word}")
    return ",".join(kept)


def _gate(name: str, gates: ReleaseGates) -> Gate | None:
    return gates.gates.get(name) or gates.elsewhere.get(name)


def locked_gates(text: str, gates: ReleaseGates) -> dict[str, Gate]:
    """``name=value`` of each pair with which a release does not start, as it has the gate locked → that gate."""
    found = ((name, word, _gate(name, gates)) for name, word in gate_pairs(text))
    given = gates.given(text)
    return {
        f"{name}={word}": gate
        for name, word, gate in found
        if gate is not None and gate.locked and given[name] != gate.default
    }


def gate_notes(text: str, before: ReleaseGates, target: TargetProcess) -> Iterator[Note]:
    """One for each gate: whether the target has it still, and with what default. Raises ConfigError for no boolean.

    before: the gates of the release that was started with them.
    """
    after = target.gates
    for name, value in before.given(text).items():
        path = f"--feature-gates {name}={str(value).lower()}"
        if name in {*before.stages.values(), *after.stages.values()}:
            yield _of_stage(name, path, target)
        elif (gate := _gate(name, after)) is not None:
            yield _of_gate(value, path, _gate(name, before), gate, target)
        elif name in before.gates:
            always = name not in GIVEN_UP
            feature = "always on" if always else "gone"
            text = f"{target.name} has no such gate, and its feature is {feature}; it is left out"
            yield Note(NoteKind.EXACT if value is always else NoteKind.LOST, path, text)
        else:
            yield Note(
                NoteKind.CHECK, path, f"{target.name} has no such gate and does not start with it; it is left out"
            )


def _of_stage(name: str, path: str, target: TargetProcess) -> Note:
    kept = name in target.gates.stages.values()
    text = f"{target.name} has other gates of that stage" if kept else f"{target.name} has no such name; it is left out"
    return Note(NoteKind.CHECK, path, text, "name the gates that you want instead")


def _of_gate(value: bool, path: str, before: Gate | None, after: Gate, target: TargetProcess) -> Note:
    said, default = str(value).lower(), str(after.default).lower()
    if after.locked:
        text = f"{target.name} has it locked to {default}; it is left out"
        return Note(NoteKind.EXACT if value == after.default else NoteKind.LOST, path, text)
    changed = before is not None and before.default != after.default
    text = f"{target.name} has it still, {'now ' if changed else ''}{default} by default"
    if value == after.default:
        return Note(NoteKind.EXACT, path, f"{text}, so it need not be said")
    return Note(NoteKind.CHECK, path, f"{text}: {said} is kept", f"see whether {said} is still what you want")
