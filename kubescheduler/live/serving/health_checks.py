"""Health checks and what they answer. Upstream: apiserver's healthz."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from kubecel.api_names import go_quote
from kubescheduler.live.serving.http_answers import HttpAnswer, HttpRequest, error_answer, not_found, text_answer

Observed = Callable[[str, str, bool], None]
"""Told of (the check's name, healthz or livez or readyz, whether it passed)."""


class HealthCheck(msgspec.Struct, frozen=True, eq=False):
    """One thing that may be wrong."""

    name: str
    """As it stands behind the path: ``/readyz/NAME``."""
    fault: Callable[[], str]
    """What is wrong; empty while nothing is. Called on the I/O thread."""


PING = HealthCheck("ping", lambda: "")
"""Passes while the process answers at all."""


class HealthPath(msgspec.Struct, frozen=True, eq=False):
    """A path with its checks: ``/healthz``, ``/livez`` or ``/readyz``."""

    name: str
    """Without the slash."""
    checks: Sequence[HealthCheck]
    """In the order in which they are listed."""
    observed: Observed = lambda _name, _path, _passed: None

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """All checks together; the request's ``verbose`` and ``exclude`` say how."""
        excluded = [name for name in request.query.get("exclude", []) if name]
        lines, failed = [], False
        for check in self.checks:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            passed = not self._fault(check)
            failed = failed or not passed
            lines.append(f"[+]{check.name} ok\n" if passed else f"[-]{check.name} failed: reason withheld\n")
        known = {check.name for check in self.checks}
        unknown = ",".join(go_quote(name) for name in sorted(set(excluded) - known))
        if unknown:
            lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}\n")
        if failed:
            return error_answer(f"{''.join(lines)}{self.name} check failed", 500)
        verbose = "verbose" in request.query
        return text_answer(f"{''.join(lines)}{self.name} check passed\n" if verbose else "ok")

    def single(self, name: str) -> HttpAnswer:
        """One check, with what is wrong."""
        check = next((check for check in self.checks if check.name == name), None)
        if check is None:
            return not_found()
        fault = self._fault(check)
        return error_answer(f"internal server error: {fault}", 500) if fault else HttpAnswer(200, b"ok")

    def _fault(self, check: HealthCheck) -> str:
        fault = check.fault()
        self.observed(check.name, self.name, not fault)
        return fault
