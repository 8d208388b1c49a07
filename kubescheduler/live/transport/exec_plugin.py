"""Exec plugins: a program that says who we are, and how long that holds. Upstream: client-go's auth/exec."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1")
MODES = ("", "Never", "IfAvailable", "Always")


class PluginError(ValueError):
    """A plugin cannot be run, or does not say what it should; the text is client-go's."""


class Variable(msgspec.Struct, frozen=True):
    """One of the plugin's environment."""

    name: str
    value: str = ""


class Credentials(msgspec.Struct, frozen=True, rename="camel"):
    """What a plugin answers."""

    token: str = ""
    client_certificate_data: str = ""
    """PEM."""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: Credentials | None = None


class ExecPlugin(msgspec.Struct, frozen=True, rename="camel"):
    """The member ``exec`` of a kubeconfig's user."""

    command: str = ""
    """A path, or the name of a program on PATH."""
    api_version: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    """Besides ours."""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""
    """Never, IfAvailable or Always; empty: IfAvailable."""

    def fault(self) -> str:
        """What is wrong with it, before it is run."""
        if not self.command:
            return "exec: command must be specified to use exec authentication plugin"
        if self.api_version not in VERSIONS:
            return f'exec plugin: invalid apiVersion "{self.api_version}"; there is {", ".join(VERSIONS)}'
        if self.interactive_mode not in MODES:
            return f'exec plugin: unknown interactiveMode: "{self.interactive_mode}"'
        return ""

    async def credentials(self, cluster: dict[str, Any]) -> Credentials:
        """Runs the plugin. cluster: what it is told of the cluster, if it wants to know. Raises PluginError."""
        interactive = self.interactive_mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not interactive:
            raise PluginError("exec plugin cannot support interactive mode: standard input is not a terminal")
        spec = {"interactive": interactive, **({"cluster": cluster} if self.provide_cluster_info else {})}
        asked = {"kind": "ExecCredential", "apiVersion": self.api_version, "spec": spec}
        given = {one.name: one.value for one in self.env}
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.args,
                env={**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
                stdin=None if interactive else nothing,
                stdout=pipe,
                stderr=None if interactive else pipe,
            )
            said, complaint = await process.communicate()
        except (OSError, ValueError) as error:
            raise PluginError(self._hinted(f"exec: executable {self.command} failed: {_reason(error)}")) from None
        if process.returncode:
            why = f": {' '.join(complaint.decode(errors='replace').split())}" if complaint else ""
            raise PluginError(
                self._hinted(f"exec: executable {self.command} failed with exit code {process.returncode}{why}")
            )
        return self._checked(said)

    def _hinted(self, text: str) -> str:
        return f"{text}; {' '.join(self.install_hint.split())}" if self.install_hint else text

    def _checked(self, said: bytes) -> Credentials:
        """What a plugin said is never in a message: it is secret."""
        try:
            answer = msgspec.json.decode(said, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise PluginError(f"decoding stdout of {self.command}: {error}") from None
        if (answer.kind, answer.api_version) != ("ExecCredential", self.api_version):
            raise PluginError(
                f"exec plugin is configured to use API version {self.api_version}, "
                f"plugin returned version {answer.api_version} of {answer.kind or 'no kind'}"
            )
        given = answer.status
        if given is None:
            raise PluginError("exec plugin didn't return a status field")
        if bool(given.client_certificate_data) != bool(given.client_key_data):
            raise PluginError("exec plugin returned only certificate or key, not both")
        if not given.token and not given.client_certificate_data:
            raise PluginError("exec plugin didn't return a token or cert/key pair")
        until = given.expiration_timestamp
        if until is not None and until.tzinfo is None:
            given = msgspec.structs.replace(given, expiration_timestamp=until.replace(tzinfo=UTC))
        return given


def _reason(error: Exception) -> str:
    return "no such file or directory" if isinstance(error, FileNotFoundError) else str(error)


class ExecCertificate(msgspec.Struct, frozen=True):
    """One certificate; two are equal that are the same certificate."""

    pem: bytes
    since: datetime
    """From when on it is valid (notBefore)."""
    until: datetime
    """When it expires (notAfter)."""

    @classmethod
    def of(cls, pem: bytes) -> ExecCertificate:
        """The first certificate of a chain. Raises ValueError for what is none."""
        from cryptography import x509

        certificate = x509.load_pem_x509_certificates(pem)[0]
        return cls(pem, certificate.not_valid_before_utc, certificate.not_valid_after_utc)
