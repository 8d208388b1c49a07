"""A client of pods alone, for tests."""

from __future__ import annotations

from typing import Any


class Claimless:
    """The part of a Client that writes claims, which nobody asks for."""

    def create_claim(self, claim: Any) -> Any: ...

    def update_claim(self, claim: Any, change: Any) -> Any: ...

    def take_back_claim(self, claim: Any, pod: Any) -> Any: ...

    def delete_claim(self, claim: Any) -> None: ...
