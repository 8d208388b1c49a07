"""Whether a document is a KubeSchedulerConfiguration of a version that is read, in the words of the releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clusterstate.errors import ConfigError, nearest
from kubecel.api_names import go_quote
from kubescheduler.config.component.config_schema import GROUP, KIND
from kubescheduler.framework.profiles.in_tree_plugins import args_types

if TYPE_CHECKING:
    from kubescheduler.config.component.component_format import ComponentFormat

TYPE_KEYS = ("kind", "apiVersion")

_OTHER_DOCUMENTS = {
    "Policy": "this is a policy: give the file as --policy-config-file",
    "ConfigMap": "this is a ConfigMap: give the file as --policy-configmap, or the text of its entry as --config",
}


def version_of(document: Mapping[str, Any], form: ComponentFormat, *, all_problems: bool) -> str:
    """The document's apiVersion. Raises ConfigError when the release does not read such a document."""
    error = _error(document, form)
    if error is None:
        return str(document["apiVersion"])
    if not all_problems:
        raise ConfigError(error)
    raise ConfigError(type_problems(document, form.release, form.versions, form.elsewhere) or error)


def is_registered(version: str, kind: str, form: ComponentFormat) -> bool:
    """Whether the release knows a type of this version and kind."""
    if (version, kind) in form.registered:
        return True
    names = (KIND, *(args.record.__name__ for args in args_types(form.plugins).values()))
    return version in form.versions and kind in names


def not_registered(version: str, kind: str, form: ComponentFormat) -> str:
    """The release's text for a version and kind that it does not know."""
    internal = version in (f"{GROUP}/__internal", "/", "__internal")
    group = version.partition("/")[0] if "/" in version else ""
    registered = f"the internal version of group {go_quote(group)}" if internal else f"version {go_quote(version)}"
    return f"no kind {go_quote(kind)} is registered for {registered} in scheme {go_quote(form.scheme)}"


def group_kind(version: str, kind: str) -> str:
    """``Kind.group``."""
    group, slash, _ = version.partition("/")
    return f"{kind}.{group}" if slash else kind


def type_fault(document: Mapping[str, Any], *, version: str = "", kind: str = "") -> str | None:
    """What is wrong with ``kind`` and ``apiVersion`` themselves; ``version`` and ``kind`` stand in for absent ones."""
    for key, default in (("apiVersion", version), ("kind", kind)):
        value = document.get(key)
        if value is not None and not isinstance(value, str):
            return f"couldn't get version/kind; json parse error: {key} is not a string"
        if not value and not default:
            name = "Kind" if key == "kind" else key
            return f"Object '{name}' is missing in '{msgspec.json.encode(dict(document)).decode()}'"
    if (found := document.get("apiVersion") or version).count("/") > 1:
        return f"unexpected GroupVersion string: {found}"
    return None


def _error(document: Mapping[str, Any], form: ComponentFormat) -> str | None:
    if error := type_fault(document):
        return error
    version, kind = document["apiVersion"], document["kind"]
    if not is_registered(version, kind, form):
        return not_registered(version, kind, form)
    if kind == KIND:
        return None
    group_version = version if "/" in version else f"/{version}"
    return f"couldn't decode as {KIND}, got {group_version}, Kind={kind}: "


def type_problems(
    document: Mapping[str, Any], release: str, versions: Sequence[str], elsewhere: Mapping[str, str]
) -> list[str]:
    """What is wrong with kind and apiVersion for a release that reads ``versions``, and what to do.

    elsewhere: apiVersion → what to do with a document of it.
    """
    kind, version = document.get("kind"), document.get("apiVersion")
    wanted = f"a configuration of release {release} begins with apiVersion: {versions[0]} and kind: {KIND}"
    if isinstance(kind, str) and kind in _OTHER_DOCUMENTS:
        return [f"kind: {kind} is no {KIND}; {_OTHER_DOCUMENTS[kind]}"]
    problems = []
    if kind != KIND:
        hint = nearest(str(kind), [KIND]) or f"; {wanted}"
        problems.append(f"kind: {'it is missing' if kind is None else f'{kind} is no {KIND}'}{hint}")
    if version not in versions:
        hint = f"; {elsewhere.get(str(version), f'write {versions[0]}')}"
        found = "it is missing" if version is None else f"release {release} does not read {version}"
        problems.append(f"apiVersion: {found}{hint}")
    return problems


def without_type(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without apiVersion and kind."""
    return {key: value for key, value in document.items() if key not in TYPE_KEYS}
