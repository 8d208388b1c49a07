"""Messages that point into an expression. Upstream: cel-go common/error.go."""

from __future__ import annotations

import attrs

from clusterstate.cel.cel_faults import CompileFault

MOST_ISSUES = 100


@attrs.define
class Issues:
    """What is wrong with an expression."""

    source: str
    found: list[tuple[int, str]] = attrs.field(factory=list)
    """(where, in characters; what)."""

    def report(self, at: int, message: str) -> None:
        """Adds one."""
        self.found.append((at, message))

    def raise_any(self) -> None:
        """Raises CompileFault with all that was reported, by place."""
        if not self.found:
            return
        ordered = sorted(self.found[:MOST_ISSUES], key=lambda issue: issue[0])
        texts = [self._shown(at, message) for at, message in ordered]
        if len(self.found) > MOST_ISSUES:
            texts.append(f"{len(self.found) - MOST_ISSUES} more errors were truncated")
        raise CompileFault("compilation failed: " + "\n".join(texts))

    def _shown(self, at: int, message: str) -> str:
        before = self.source[:at]
        line, column = before.count("\n"), at - (before.rfind("\n") + 1)
        text = self.source.split("\n")[line].replace("\t", " ")
        dots = "".join("." if sign.isascii() else "．" for sign in text[:column])
        pointer = "^" if text[column : column + 1].isascii() else "＾"
        return f"ERROR: <input>:{line + 1}:{column + 1}: {message}\n | {text}\n | {dots}{pointer}"
