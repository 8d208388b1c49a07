"""Configuration documents: JSON, YAML or TOML text in, plain data out.

Plain data is what JSON knows: mappings with string keys, lists, texts, numbers, booleans and None.
"""

from __future__ import annotations

import datetime
import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from clusterstate.errors import ConfigError, DecodeError, attempt, faults_at
from kubescheduler.sources.files import Readable, read_bytes, read_file
from kubescheduler.sources.untrusted import TooLongError, check_values, exceeded, limit

POLICY_KEY = "policy.cfg"
"""The key of a ConfigMap that holds the policy."""

CONFIGURATION_KIND = "KubeSchedulerConfiguration"

_FORMATS = {".json": "JSON", ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML"}
_TOML_LINE = re.compile(r"""\s*(\[{1,2}\s*["'A-Za-z_][\w."' -]*\]{1,2}|[\w.-]+\s*=.*)\s*(#.*)?""")


class ParsedDocument(dict[str, Any]):
    """A document, which remembers its text to say what of that is not in it."""

    def __init__(self, content: Mapping[str, Any], text: str, file_format: str, behind: int | None = 0) -> None:
        super().__init__(content)
        self._text = text
        self._format = file_format
        self._behind = behind

    def set_twice(self) -> tuple[str, ...]:
        """``path: set twice`` for every key that the text sets more than once; the document has the last."""
        from kubescheduler.sources.json_stream import duplicate_keys

        return tuple(duplicate_keys(self._text, self._format))

    def documents_behind(self) -> str:
        """What stands behind the document in its file, for messages; empty when nothing does."""
        if self._behind is None:
            return "what stands behind the first document"
        return f"{self._behind} more document{'s' * (self._behind > 1)}" if self._behind else ""


def parse_document(text: str, name: str, file_format: str | None = None) -> ParsedDocument:
    """The document in ``text``; empty text is an empty document.

    The format (JSON, YAML, TOML) is known from the ending of ``name``, otherwise from the text itself. Raises
    ConfigError with ``name:line:column`` for text that cannot be read, and for a document that is no mapping, or
    several of them.
    """
    document = parse_first_document(text, name, file_format)
    if behind := document.documents_behind():
        raise ConfigError(f"{name}: expected one document, found {behind}; keep one of them")
    return document


def parse_first_document(text: str, name: str, file_format: str | None = None) -> ParsedDocument:
    """The same of a text that a release decodes: it reads no more than the first of several documents in YAML."""
    file_format = file_format or document_format(text, name)
    behind: int | None = 0
    if not text.strip():
        return ParsedDocument({}, "", "TOML")
    try:
        if file_format == "YAML":
            found, behind = _parse_yaml(text, name)
        else:
            found = {"JSON": _parse_json, "TOML": _parse_toml}[file_format](text, name)
        document = _plain(found, limit("depth"))
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deeply: {exceeded('depth')}") from error
    if document is None:
        return ParsedDocument({}, "", "TOML", behind)
    if not isinstance(document, dict):
        raise ConfigError(f"{name}: expected a mapping of keys to values, found {_kind(document)}")
    return ParsedDocument(document, text, file_format, behind)


def document_format(text: str, name: str) -> str:
    """JSON, YAML or TOML: by the ending of ``name``, else by the text itself."""
    return _FORMATS.get(Path(name).suffix.lower()) or _sniff(text)


def read_document(path: Path) -> ParsedDocument:
    """``parse_document`` of a file. Raises ConfigError also when the file cannot be read."""
    return parse_document(read_text(path), str(path))


def read_text(path: Path, stream: Readable | None = None) -> str:
    """A UTF-8 file's text, or that of a stream which is called so, without byte order mark."""
    try:
        data = read_file(path) if stream is None else read_bytes(stream)
        check_values(data)
        return data.decode()
    except TooLongError as error:
        raise ConfigError(f"{path}: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        advice = "; save the file as UTF-8" if stream is None else ""
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8{advice}") from error
    except (EOFError, ValueError, zlib.error) as error:
        raise ConfigError(f"{path}: it cannot be read as text or as gzip") from error


# --- policies ------------------------------------------------------------------------------


def read_policy_file(path: Path) -> ParsedDocument:
    """The document of ``--policy-config-file``; errors begin as release 1.16 begins them."""
    if not path.exists():
        raise ConfigError(f"missing policy config file {path}")
    with faults_at("couldn't read policy config"):
        text = read_text(path)
    return _policy(text, str(path))


def read_policy_configmap(path: Path) -> ParsedDocument:
    """The document under ``policy.cfg`` of a ConfigMap manifest; errors begin as release 1.16 begins them."""
    with faults_at("couldn't get policy config map"):
        manifest = read_configmap(path)
    return configmap_policy(manifest, str(path))


def read_configmap(path: Path) -> Mapping[str, Any]:
    """A ConfigMap's manifest, also when it is the only one with a policy among several documents.

    Raises ConfigError also when the file cannot be read.
    """
    text, name = read_text(path), str(path)
    document = parse_first_document(text, name)
    if not document.documents_behind():
        return document
    manifests = _manifests(text, name)
    found = [each for each in manifests if _has_policy(each)]
    if len(found) != 1:
        many = f"{len(found)} ConfigMaps" if found else "no ConfigMap"
        text = f'{many} with a value at key "{POLICY_KEY}" among its documents; it needs one'
        raise ConfigError(f"{name}: {text}{_instead_of_policy(manifests)}")
    manifest: Mapping[str, Any] = found[0]
    return manifest


def _manifests(text: str, name: str) -> list[Any]:
    from kubescheduler.sources.yaml_stream import parse_yaml

    try:
        return parse_yaml(name, text)
    except DecodeError as error:
        raise ConfigError(map(_with_colons, error.problems)) from error


def _has_policy(manifest: Any) -> bool:
    if not isinstance(manifest, Mapping) or manifest.get("kind") != "ConfigMap":
        return False
    data = manifest.get("data")
    return isinstance(data, Mapping) and POLICY_KEY in data


def _instead_of_policy(manifests: Iterable[Any]) -> str:
    """What to do with ConfigMaps that hold another configuration."""
    there = any(map(_has_configuration, manifests))
    return f"; it has a {CONFIGURATION_KIND}: give the file as --config" if there else ""


def configmap_policy(manifest: Mapping[str, Any], name: str) -> ParsedDocument:
    """The policy document that a ConfigMap holds as text."""
    if manifest.get("kind") != "ConfigMap":
        raise ConfigError(f"{name}: expected a ConfigMap, found kind {manifest.get('kind')}")
    data = manifest.get("data")
    text = data.get(POLICY_KEY) if isinstance(data, Mapping) else None
    if text is None:
        text = f'missing policy config map value at key "{POLICY_KEY}": {name} has none'
        raise ConfigError(text + _instead_of_policy([manifest]))
    if not isinstance(text, str):
        raise ConfigError(f"{name}: data[{POLICY_KEY}]: expected text, found {_kind(text)}; write it after a |")
    return _policy(text, f"{name}[{POLICY_KEY}]")


def _policy(text: str, name: str) -> ParsedDocument:
    with faults_at("invalid policy"):
        return parse_first_document(text, name)


# --- component configurations --------------------------------------------------------------


def read_configuration(path: Path) -> tuple[ParsedDocument, str]:
    """(the document of ``--config``, its name): of a file, or the one that a ConfigMap in it holds.

    Raises ConfigError also when the file cannot be read.
    """
    text, name = read_text(path), str(path)
    document = parse_first_document(text, name)
    if document.documents_behind() and document.get("kind") != CONFIGURATION_KIND:
        held = [each for each in _manifests(text, name) if _has_configuration(each)]
        if len(held) == 1:
            return configuration_in(held[0], name)
    return configuration_in(document, name)


def configuration_in(document: Mapping[str, Any], name: str) -> tuple[Any, str]:
    """(the configuration that a ConfigMap holds as text, its name with the key); any other document as it is.

    Raises ConfigError for a ConfigMap that holds none, or several.
    """
    if document.get("kind") != "ConfigMap":
        return document, name
    held, problems = _configurations(document, name)
    if len(held) == 1:
        ((key, found),) = held.items()
        return found, f"{name}[{key}]"
    if held:
        raise ConfigError(f"{name}: several keys hold a {CONFIGURATION_KIND}: {', '.join(held)}; keep one of them")
    if problems:
        raise ConfigError(problems)
    policy = _has_policy(document)
    hint = f"; it has a policy at {POLICY_KEY}: give the file as --policy-configmap" if policy else ""
    raise ConfigError(f"{name}: no key of this ConfigMap holds a {CONFIGURATION_KIND}{hint}")


def _has_configuration(manifest: Any) -> bool:
    if not isinstance(manifest, Mapping) or manifest.get("kind") != "ConfigMap":
        return False
    return bool(_configurations(manifest, "")[0])


def _configurations(manifest: Mapping[str, Any], name: str) -> tuple[dict[str, ParsedDocument], list[str]]:
    """(key → configuration, what is wrong with the texts that look like one and cannot be read)."""
    data = manifest.get("data")
    held: dict[str, ParsedDocument] = {}
    problems: list[str] = []
    for key, text in data.items() if isinstance(data, Mapping) else ():
        if isinstance(text, str) and CONFIGURATION_KIND in text:
            found = attempt(problems, parse_first_document, text, f"{name}[{key}]")
            if found is not None and found.get("kind") == CONFIGURATION_KIND:
                held[key] = found
    return held, problems


# --- formats -------------------------------------------------------------------------------


def parse_toml(text: str) -> dict[str, Any]:
    """TOML. Raises ValueError, with the place behind it where the parser knows it."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # int() refuses numbers of thousands of digits, in words of Python
        raise ValueError("a number in it has too many digits") from None


def _sniff(text: str) -> str:
    start = text.lstrip()
    if start.startswith("{"):
        return "JSON"
    lines = (line for line in start.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return "TOML" if _TOML_LINE.fullmatch(next(lines, "")) else "YAML"


def _parse_json(text: str, name: str) -> Any:
    import msgspec

    data = text.encode()
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        message = str(error)
        if "truncated" in message:
            raise ConfigError(f"{name}: the JSON ends too early; is a bracket missing?") from error
        position = re.search(r" \(byte (\d+)\)$", message)
        if position is None:
            raise ConfigError(f"{name}: {message}") from error
        before = data[: int(position[1])].decode(errors="replace")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        raise ConfigError(f"{name}:{line}:{column}: {message[: position.start()]}") from error


def _parse_yaml(text: str, name: str) -> tuple[Any, int | None]:
    """The first document, and how many are behind it."""
    from kubescheduler.sources.yaml_stream import first_document

    try:
        return first_document(name, text)
    except DecodeError as error:
        raise ConfigError(map(_with_colons, error.problems)) from error


def _with_colons(problem: str) -> str:
    """``name: line 3, column 4: …`` as ``name:3:4: …``."""
    return re.sub(r": line (\d+), column (\d+): ", r":\1:\2: ", problem, count=1)


def _parse_toml(text: str, name: str) -> Any:
    try:
        return parse_toml(text)
    except ValueError as error:
        fault, _, place = str(error).partition(" (at line ")
        position = place.removesuffix(")").replace(", column ", ":")
        raise ConfigError(f"{name}{position and f':{position}'}: {fault}") from error


def _plain(value: Any, levels: int) -> Any:
    """What a conversion to JSON would leave: text keys, whole floats as integers, dates as text.

    Raises RecursionError for more than ``levels`` of lists and mappings.
    """
    match value:
        case dict() | list() | tuple() | set() if not levels:
            raise RecursionError
        case dict():
            return {_key(key): _plain(item, levels - 1) for key, item in value.items()}
        case list() | tuple() | set():
            return [_plain(item, levels - 1) for item in value]
        case float() if value.is_integer():
            return int(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case bytes():
            return value.decode("utf-8", "replace")
    return value


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return "null" if key is None else str(key)


def _kind(value: object) -> str:
    match value:
        case str():
            return f'the text "{value[:40]}"'
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return f"{value}"
