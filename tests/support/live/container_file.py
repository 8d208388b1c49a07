"""A Containerfile as a list of instructions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import attrs


@attrs.frozen
class Instruction:
    """One line of a Containerfile."""

    name: str
    """In capitals: COPY."""
    words: tuple[str, ...]
    """What follows, with flags, as a shell splits it; of a list in JSON its members."""

    @property
    def flags(self) -> dict[str, str]:
        """``--from=build`` as from → build."""
        pairs = (word[2:].partition("=") for word in self.words if word.startswith("--"))
        return {key: value for key, _, value in pairs}

    @property
    def operands(self) -> tuple[str, ...]:
        """The words that are no flags."""
        return tuple(word for word in self.words if not word.startswith("--"))


@attrs.frozen
class Stage:
    """The instructions from one FROM to the next."""

    image: str
    name: str
    """Empty: it has none."""
    instructions: tuple[Instruction, ...]

    def all(self, name: str) -> list[Instruction]:
        """The instructions of a name."""
        return [one for one in self.instructions if one.name == name]


def stages_of(path: Path) -> list[Stage]:
    """The stages of a file, in order."""
    stages: list[Stage] = []
    for instruction in _instructions(path.read_text()):
        if instruction.name == "FROM":
            image, *rest = instruction.operands
            stages.append(Stage(image, rest[1] if rest else "", ()))
        else:
            last = stages[-1]
            stages[-1] = attrs.evolve(last, instructions=(*last.instructions, instruction))
    return stages


def _instructions(text: str) -> Iterator[Instruction]:
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            listed = rest.strip().startswith("[")
            yield Instruction(name.upper(), tuple(json.loads(rest) if listed else shlex.split(rest)))
