"""What a text turns into when Go formats it as if it were a format string, without any argument.

The releases up to 1.20 print the ``error`` member of an answer that way, so ``95% full`` comes out as
``95%!f(MISSING)ull``. The rules are those of Go's package fmt: flags, an argument index, a width, a precision and a
verb, in this order; what has no operand is reported in the text itself.
"""

from __future__ import annotations

import msgspec

FLAGS = frozenset("#0+- ")
TOO_LARGE = 1_000_000
"""A width or precision beyond this swallows the rest of the text."""


def format_without_operands(text: str) -> str:
    """The text as ``fmt.Errorf(text)`` gives it; unchanged when it has no ``%``."""
    if "%" not in text:
        return text
    scanner = _Scanner(text)
    while scanner.at < len(text):
        percent = text.find("%", scanner.at)
        if percent < 0:
            scanner.out.append(text[scanner.at :])
            break
        scanner.out.append(text[scanner.at : percent])
        scanner.at = percent + 1
        scanner.directive()
    return "".join(scanner.out)


class _Scanner(msgspec.Struct):
    """Reads one directive at a time and writes what stands for it."""

    text: str
    at: int = 0
    out: list[str] = msgspec.field(default_factory=list)
    indexed: bool = False

    def directive(self) -> None:
        """From behind the ``%`` to behind the verb."""
        self.indexed = False
        while self._peek() in FLAGS:
            self.at += 1
        after_index = self._index()
        after_index = self._amount("%!(BADWIDTH)") and after_index
        if self._peek() == ".":
            self.at += 1
            after_index = self._index()
            after_index = self._amount("%!(BADPREC)") and after_index
        if not after_index:
            self._index()
        self._verb()

    def _peek(self) -> str:
        """The next character; NUL at the end, which means nothing here."""
        return self.text[self.at] if self.at < len(self.text) else "\0"

    def _index(self) -> bool:
        """Skips ``[…]``; whether it holds a number. Every index is a bad one, as there are no operands."""
        if self._peek() != "[":
            return False
        self.indexed = True
        close = self.text.find("]", self.at)
        if close < 0 or len(self.text) - self.at < 3:
            self.at += 1
            return False
        inside, self.at = self.text[self.at + 1 : close], close + 1
        return inside.isascii() and inside.isdigit() and not _too_large(inside)

    def _amount(self, bad: str) -> bool:
        """Skips a width or precision. False when it was ``*``, which asks for an operand."""
        if self._peek() == "*":
            self.at += 1
            self.out.append(bad)
            return False
        start = self.at
        while self._peek() in "0123456789":
            self.at += 1
        if _too_large(self.text[start : self.at]):
            self.at = len(self.text)
        return True

    def _verb(self) -> None:
        if self.at >= len(self.text):
            self.out.append("%!(NOVERB)")
            return
        verb = self.text[self.at]
        self.at += 1
        if verb == "%":
            self.out.append("%")
        else:
            self.out.append(f"%!{verb}({'BADINDEX' if self.indexed else 'MISSING'})")


def _too_large(digits: str) -> bool:
    """Go looks at the number before it reads the last digit."""
    read = digits[:-1].lstrip("0")
    return len(read) > 7 or int(read or "0") > TOO_LARGE
