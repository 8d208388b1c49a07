"""Kubeconfigs: which server a context names, and who it says we are, also by exec plugins, which are programs that say
who we are, and how long that holds.

Read ``Kubeconfig`` first. Upstream: client-go's tools/clientcmd and auth/exec.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import os
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from clusterstate.errors import ConfigError, DecodeError
from kubecel.api_names import go_quote
from kubescheduler.sources.files import UNREADABLE, read_file, why_unreadable
from kubescheduler.sources.untrusted import TooLongError, json_text
from kubescheduler.sources.yaml_stream import parse_yaml

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


NO_KUBECONFIG = "no kubeconfig: it has no clusters, users and contexts"
LISTS = ("clusters", "users", "contexts")


class ClusterEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """A server, and by what it is known."""

    server: str = ""
    certificate_authority: str = ""
    """A file."""
    certificate_authority_data: str = ""
    """Base64; goes before the file."""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    """The name in the server's certificate, where it is not that of the address."""
    proxy_url: str = ""
    extensions: tuple[Any, ...] = ()


class AuthProvider(msgspec.Struct, frozen=True):
    """The way before exec plugins, which upstream has taken out of its clients."""

    name: str = ""


class UserEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """Who we are."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    """Goes before the token."""
    username: str = ""
    password: str = ""
    client_certificate: str = ""
    """A file."""
    client_certificate_data: str = ""
    """Base64; goes before the file, as that of the key does."""
    client_key: str = ""
    client_key_data: str = ""
    exec: ExecPlugin | None = None
    auth_provider: AuthProvider | None = None
    as_user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}


class ContextEntry(msgspec.Struct, frozen=True):
    """Which server as whom."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


ENTRIES = {"cluster": ClusterEntry, "user": UserEntry, "context": ContextEntry}


class Kubeconfig(msgspec.Struct, frozen=True):
    """What one context stands for; paths in it are absolute."""

    cluster: ClusterEntry
    user: UserEntry
    namespace: str = ""
    """Where names without a namespace are looked for; empty: the context does not say."""

    @classmethod
    def read(cls, paths: str, context: str | None = None, *, needs_server: bool = True) -> Kubeconfig:
        """Reads files whose paths are separated as in KUBECONFIG; of several the first that has an entry counts.

        context: None for the current one. needs_server: whether the file has to say where the server is.
        Raises ConfigError for what cannot be read or used, with file and path of the fault.
        """
        known: dict[str, dict[str, Any]] = {key: {} for key in LISTS}
        current, problems = "", list[str]()
        for path in filter(None, paths.split(os.pathsep)):
            document = _document(path)
            for key in LISTS:
                known[key] = _entries(document, key, path, problems) | known[key]
            said = document.get("current-context") or ""
            if not isinstance(said, str):
                problems.append(f"invalid configuration: {path}: current-context: must be a name{_quotes(said)}")
            current = current or said
        if problems:
            raise ConfigError(problems)
        try:
            return _chosen(cls, known, context or current, needs_server=needs_server)
        except ValueError as error:
            raise ConfigError(f"invalid configuration: {paths}: {error}") from None

    @property
    def url(self) -> str:
        """Of the server; an address without a scheme is one of HTTPS where the file has anything to do with TLS."""
        cluster, user = self.cluster, self.user
        if not cluster.server or "://" in cluster.server:
            return cluster.server
        trust = cluster.certificate_authority or cluster.certificate_authority_data or cluster.insecure_skip_tls_verify
        tls = trust or user.client_certificate or user.client_certificate_data
        return f"{'https' if tls else 'http'}://{cluster.server}"

    def authority(self) -> bytes:
        """PEM; empty: the machine's own. Raises ValueError and OSError."""
        return _bytes(self.cluster, "certificate-authority")

    def client_pair(self) -> tuple[bytes, bytes]:
        """(certificate, key) as PEM, both empty where there are none. Raises ValueError and OSError."""
        return _bytes(self.user, "client-certificate"), _bytes(self.user, "client-key")

    def cluster_info(self) -> dict[str, Any]:
        """What an exec plugin is told of the cluster, if it wants to know. Upstream: ConfigToExecCluster."""
        cluster = self.cluster
        named = (
            one["extension"] for one in cluster.extensions if one.get("name") == "client.authentication.k8s.io/exec"
        )
        headers = {
            "server": self.url,
            "tls-server-name": cluster.tls_server_name,
            "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
            "certificate-authority-data": base64.b64encode(self.authority()).decode(),
            "config": next(named, None),
        }
        return {key: value for key, value in headers.items() if value}


def _document(path: str) -> dict[str, Any]:
    try:
        documents = parse_yaml(path, read_file(path))
    except DecodeError as error:
        raise ConfigError(f"invalid configuration: {problem}" for problem in error.problems) from None
    except TooLongError as error:
        raise ConfigError(f"invalid configuration: {path}: {error}") from None
    except UNREADABLE as error:
        raise ConfigError(f"invalid configuration: {path}: {why_unreadable(error)}") from None
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise ConfigError(f"invalid configuration: {path}: {NO_KUBECONFIG}")
    return documents[0]


def _quotes(read: Any) -> str:
    """What to do about a name that is no text."""
    return "" if read is None else f", in quotes: without them this one is read as {json_text(read)}"


def _entries(document: dict[str, Any], key: str, path: str, problems: list[str]) -> dict[str, Any]:
    """Name → entry, with paths from the file's folder. problems: gets what is wrong with the others."""
    kind = key[:-1]
    entries: dict[str, Any] = {}
    given = document.get(key) or []
    if not isinstance(given, list):
        problems.append(f"invalid configuration: {path}: {key}: must be a list")
        return entries
    for index, one in enumerate(given):
        place = f"invalid configuration: {path}: {key}[{index}]"
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            quotes = _quotes(one.get("name") if isinstance(one, dict) else None)
            problems.append(f"{place}: must be an object with a name{quotes}")
            continue
        if one["name"] in entries:
            problems.append(f'{place}: duplicate name "{one["name"]}" in list')
        try:
            entry = msgspec.convert(_without_null(one.get(kind) or {}), ENTRIES[kind])
        except msgspec.ValidationError as error:
            text, _, where = str(error).partition(" - at `$")
            problems.append(f"{place}.{kind}{where.removesuffix('`')}: {text}")
        else:
            entries[one["name"]] = _absolute(entry, Path(path).absolute().parent)
    return entries


def _without_null(value: Any) -> Any:
    """Members that are null are as if they were not there, as in Go."""
    if isinstance(value, dict):
        return {key: _without_null(member) for key, member in value.items() if member is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


def _absolute(entry: Any, folder: Path) -> Any:
    """The entry with the paths in it as they are seen from the file's folder."""
    files = ("certificate_authority", "client_certificate", "client_key", "token_file")
    changed = {name: str(folder / path) for name in files if (path := getattr(entry, name, ""))}
    plugin = getattr(entry, "exec", None)
    if plugin is not None and os.sep in plugin.command:
        changed["exec"] = msgspec.structs.replace(plugin, command=str(folder / plugin.command))
    return msgspec.structs.replace(entry, **changed) if changed else entry


def _chosen(cls: type[Kubeconfig], known: dict[str, dict[str, Any]], name: str, *, needs_server: bool) -> Kubeconfig:
    """The server and user of a context. Raises ValueError with upstream's text."""
    contexts = known["contexts"]
    there = f"there is {', '.join(contexts)}" if contexts else "there are no contexts"
    if name and name not in contexts:
        raise ValueError(f'context "{name}" does not exist; {there}')
    if not name and needs_server:
        raise ValueError(f"there is no current-context; {there}")
    context = contexts.get(name, ContextEntry())
    for kind, wanted in (("cluster", context.cluster), ("user", context.user)):
        if wanted and wanted not in known[f"{kind}s"]:
            raise ValueError(f'{kind} "{wanted}" was not found for context "{name}"')
    cluster = known["clusters"].get(context.cluster, ClusterEntry())
    if needs_server and not cluster.server:
        raise ValueError(
            f'no server found for cluster "{context.cluster}"'
            if context.cluster
            else f'cluster was not specified for context "{name}"'
        )
    user = known["users"].get(context.user, UserEntry())
    _check_support(cluster, user, context)
    chosen = cls(cluster, user, context.namespace)
    if needs_server:
        _check_address(chosen.url, context)
    return chosen


def _check_address(url: str, context: ContextEntry) -> None:
    """Raises ValueError for what is no address of a server."""
    place = f'cluster "{context.cluster}": server {go_quote(url)}'
    try:
        parts = urlsplit(url)
        named, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"{place} is no address: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"{place} is no address of HTTP or HTTPS")
    if not named:
        raise ValueError(f"{place} names no host")


def _check_support(cluster: ClusterEntry, user: UserEntry, context: ContextEntry) -> None:
    """Raises ValueError for what would have us be somebody else, or go another way, if it were passed over."""
    place = f'user "{context.user}"'
    if user.auth_provider is not None:
        # Upstream: restclient.GetAuthProvider, in a program without such plugins.
        raise ValueError(
            f'{place}: no Auth Provider found for name "{user.auth_provider.name}"; use an exec plugin instead'
        )
    if user.exec is not None and (fault := user.exec.fault()):
        raise ValueError(f"{place}: {fault}")
    if (user.client_certificate or user.client_certificate_data) and not (user.client_key or user.client_key_data):
        text = "client-key-data or client-key must be specified to use the clientCert authentication method"
        raise ValueError(f"{place}: {text}")
    if user.as_user or user.as_uid or user.as_groups or user.as_user_extra:
        raise ValueError(f"{place}: as, as-uid, as-groups and as-user-extra are not supported: name the user itself")
    if cluster.proxy_url:
        raise ValueError(f'cluster "{context.cluster}": proxy-url is not supported')


def read_named(path: str) -> bytes:
    """What is in a file that a kubeconfig names, within the limits. Raises OSError, ValueError, also for nothing."""
    try:
        content = read_file(path)
    except (TooLongError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: {why_unreadable(error)}") from None
    if not content.strip():
        raise ValueError(f"{path}: is empty")
    return content


def _bytes(entry: ClusterEntry | UserEntry, key: str) -> bytes:
    """What stands in an entry itself, else in the file that it names. Raises ValueError, OSError."""
    name = key.replace("-", "_")
    data, path = getattr(entry, f"{name}_data"), getattr(entry, name)
    if not data:
        return read_named(path) if path else b""
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{key}-data: this is no base64: {error}") from None
