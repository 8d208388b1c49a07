"""What an API server refuses in fields that scheduling reads: checks by type, and a table of them for each release.

A check is asked about each object of its type, wherever that stands, and yields the place below it and the server's
text. What is left out and decides nothing, such as an image, is not asked for. What is of a wrong type is for decoding
to report.

Upstream: pkg/apis/core/validation, pkg/apis/policy/validation, pkg/apis/scheduling/validation,
pkg/apis/resource/validation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import msgspec

from clusterstate.manifests.fields import Check, Checks, Fault, Fields, describe
from clusterstate.manifests.kinds import SPEC
from clusterstate.manifests.known_fields import known_types, objects_in
from clusterstate.objects import ALL, EXACT_COUNT, NO_RESOURCES, FrozenMap, RequestsInUse
from clusterstate.quantity import amount_text, format_quantity, quantity_or_none
from clusterstate.usage import (
    is_extended_resource,
    is_hugepage_resource,
    is_native_resource,
    is_pod_level,
    may_overcommit,
    pod_requests,
)
from kubecel.api_names import NAME_LENGTH, go_quote, is_too_long, label_value_errors, must_match, qualified_name_errors

Given = Mapping[Any, Any]
Errors = Callable[[str], Iterable[str]]
"""A text → what is wrong with it."""

HIGHEST_PRIORITY = 1_000_000_000
PORT_NAME_LENGTH = 15
SYSTEM = "system-"
NEGATIVE = "must be greater than or equal to 0"
SCHEDULE_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
BUDGET_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
CONTAINERS = ("initContainers", "containers")
VOLUME_SOURCES = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"),
    *("flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk"),
    *("storageos", "projected", "scaleIO", "csi", "ephemeral", "image"),
)
"""In the order in which a server looks: the first that is there is what a volume is."""
CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
FLAT_REQUEST = ("deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
"""What a request of v1beta1 has where later ones have ``exactly``."""
CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
STANDARD_RESOURCES = CONTAINER_RESOURCES | {
    *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "storage"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    *(f"{kind}.{name}" for kind in ("requests", "limits") for name in CONTAINER_RESOURCES),
    "requests.storage",
}


# --- the server's texts ----------------------------------------------------------------------


def invalid(value: object, detail: str) -> str:
    """Of a value that breaks a rule."""
    shown = go_quote(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return f"Invalid value: {shown}: {detail}"


def required(detail: str = "") -> str:
    """Of a value that is missing."""
    return f"Required value: {detail}" if detail else "Required value"


def forbidden(detail: str) -> str:
    """Of a value that must not be there."""
    return f"Forbidden: {detail}"


def duplicate(value: str) -> str:
    """Of a value that is there twice."""
    return f"Duplicate value: {go_quote(value)}"


def not_found(value: str, detail: str) -> str:
    """Of a name of something that is not there."""
    return f"Not found: {go_quote(value)}: {detail}"


def unsupported(value: str, supported: Iterable[str]) -> str:
    """Of a value that is none of a few."""
    return f"Unsupported value: {go_quote(value)}: supported values: {', '.join(map(go_quote, supported))}"


# --- reading what is given -------------------------------------------------------------------


def text_of(given: Given, key: str) -> str | None:
    """The text at a key, empty when absent; None for anything else."""
    value = given.get(key)
    return "" if value is None else value if isinstance(value, str) else None


def inside(given: Given, key: str, *keys: str) -> Iterator[tuple[str, Given]]:
    """(place below the given object, object) of each object at the end of a path, through objects and lists."""
    value = given.get(key)
    there = [(f"[{at}]", each) for at, each in enumerate(value)] if isinstance(value, list) else [("", value)]
    for at, one in there:
        if isinstance(one, Mapping):
            found = inside(one, *keys) if keys else (("", one),)
            yield from ((f".{key}{at}{place}", each) for place, each in found)


def object_of(given: Given, key: str) -> Given:
    """The object at a key; an empty one for anything else."""
    value = given.get(key)
    return value if isinstance(value, Mapping) else {}


def texts_of(given: Given, key: str) -> Sequence[str] | None:
    """The list of texts at a key, empty when absent; None for anything else."""
    value = given.get(key)
    value = [] if value is None else value
    return value if isinstance(value, list) and all(isinstance(each, str) for each in value) else None


def wrong(place: str, value: str, errors: Errors) -> Iterator[Fault]:
    """What is wrong with a text."""
    return ((place, invalid(value, error)) for error in errors(value))


def repeated(values: Iterable[tuple[str, str]]) -> Iterator[Fault]:
    """Of (place, text) where the text was there before; an empty one counts as none."""
    known: set[str] = set()
    for place, value in values:
        if value and value in known:
            yield place, duplicate(value)
        known.add(value)


# --- checks of one field ---------------------------------------------------------------------


def whole(key: str, detail: str, least: int, most: int = 2**63, *, needed: bool = True) -> Check:
    """A whole number in a range; not ``needed``: it may be absent, else it is 0 then."""

    def check(given: Given) -> Iterator[Fault]:
        value = given.get(key)
        value = 0 if value is None and needed else value
        if isinstance(value, int) and not isinstance(value, bool) and not least <= value <= most:
            yield f".{key}", invalid(value, detail)

    return check


def present(key: str, detail: str = "") -> Check:
    """A text that must not be empty."""

    def check(given: Given) -> Iterator[Fault]:
        if text_of(given, key) == "":
            yield f".{key}", required(detail)

    return check


def one_of(key: str, supported: Sequence[str]) -> Check:
    """A text that must be there; that it is one of the supported ones is checked with all other fields."""

    def check(given: Given) -> Iterator[Fault]:
        if text_of(given, key) == "":
            yield f".{key}", unsupported("", supported)

    return check


def named(key: str, errors: Errors) -> Check:
    """A text that is a name of some sort, if it is there."""

    def check(given: Given) -> Iterator[Fault]:
        if value := text_of(given, key):
            yield from wrong(f".{key}", value, errors)

    return check


def labels(key: str, *, values: bool = True) -> Check:
    """Labels: their keys, and their values."""

    def check(given: Given) -> Iterator[Fault]:
        for name, value in object_of(given, key).items():
            if isinstance(name, str):
                yield from wrong(f".{key}", name, qualified_name_errors)
            if values and isinstance(value, str):
                yield from wrong(f".{key}", value, label_value_errors)

    return check


def unique(key: str, *fields: str, place: str, shown: str) -> Check:
    """Objects of a list that differ in some fields. place: below the object; shown: of the fields.

    As in the server's lists, all but the last of those that are alike are faults.
    """

    def check(given: Given) -> Iterator[Fault]:
        every = [(at, tuple(str(one.get(field, "")) for field in fields)) for at, one in inside(given, key)]
        counts = Counter(values for _, values in every if any(values))
        for at, values in every:
            counts[values] -= 1
            if counts[values] > 0:
                yield f"{at}{place}", duplicate(shown.format(*values))

    return check


# --- checks of several fields ----------------------------------------------------------------


def toleration(given: Given, *, compares: bool) -> Iterator[Fault]:
    """compares: also by Gt and Lt. Upstream: ValidateTolerations."""
    key, operator, value = (text_of(given, field) for field in ("key", "operator", "value"))
    if key is None or operator is None or value is None:
        return
    if not key and operator != "Exists":
        yield (
            ".operator",
            invalid(
                operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            ),
        )
    if given.get("tolerationSeconds") is not None and given.get("effect") != "NoExecute":
        effect = text_of(given, "effect") or ""
        yield ".effect", invalid(effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator == "Exists" and value:
        yield ".operator", invalid(value, "value must be empty when `operator` is 'Exists'")
    elif compares and operator in ("Gt", "Lt"):
        yield from wrong(".value", value, integer_errors)
    elif operator in ("", "Equal") and (errors := label_value_errors(value)):
        yield ".operator", invalid(value, ";".join(errors))


def integer_errors(text: str) -> Iterator[str]:
    """What is wrong with a whole number of 64 bits. Upstream: content.IsDecimalInteger, strconv.ParseInt."""
    import re

    if not text:
        yield "must be non-empty"
    elif not re.fullmatch("0|-?[1-9][0-9]*", text):
        yield "must be a valid decimal integer in canonical form"
    read = re.fullmatch("([+-]?)0*([0-9]+)", text)
    if read is None:
        yield f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax"
    elif len(read[2]) > 19 or not -(2**63) <= int(read[1] + read[2]) < 2**63:
        yield f"strconv.ParseInt: parsing {go_quote(text)}: value out of range"


def taint(given: Given) -> Iterator[Fault]:
    """Upstream: validateNodeTaints."""
    key, value, effect = (text_of(given, field) for field in ("key", "value", "effect"))
    yield from () if key is None else wrong(".key", key, qualified_name_errors)
    if value and (errors := label_value_errors(value)):
        yield ".value", invalid(value, ";".join(errors))
    if effect == "":
        yield ".effect", required()


def requirement(given: Given, *, compares: bool = False, checks_values: bool = False) -> Iterator[Fault]:
    """A requirement on labels. compares: also by Gt and Lt. checks_values: they have to be values of labels.

    Upstream: ValidateNodeSelectorRequirement, ValidateLabelSelectorRequirement.
    """
    key, operator, values = text_of(given, "key"), text_of(given, "operator"), texts_of(given, "values")
    if key is None or operator is None or values is None:
        return
    if operator in ("In", "NotIn") and not values:
        yield ".values", required("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield ".values", forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif compares and operator in ("Gt", "Lt") and len(values) != 1:
        yield ".values", required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif not operator:
        yield ".operator", invalid(operator, "not a valid selector operator")
    yield from wrong(".key", key, qualified_name_errors)
    yield from value_faults(given) if checks_values else ()


def node_term(given: Given) -> Iterator[Fault]:
    """A term of a node selector: requirements on labels and on fields. Upstream: ValidateNodeSelectorTerm."""
    for at, one in inside(given, "matchExpressions"):
        yield from ((f"{at}{place}", text) for place, text in requirement(one, compares=True))
    for at, one in inside(given, "matchFields"):
        operator, values = text_of(one, "operator"), texts_of(one, "values")
        if operator in ("In", "NotIn") and values is not None and len(values) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield f"{at}.values", required(detail)
        elif operator is not None and operator not in ("In", "NotIn"):
            yield f"{at}.operator", invalid(operator, "not a valid selector operator")
        if (key := text_of(one, "key")) is not None and key != "metadata.name":
            yield f"{at}.key", invalid(key, "not a valid field selector key")


def node_selector(given: Given, *, checks_values: bool) -> Iterator[Fault]:
    """The values of preferred terms, which are in no selector, are not checked. Upstream: ValidateNodeSelector."""
    terms = given.get("nodeSelectorTerms")
    if terms is None or terms == []:
        yield ".nodeSelectorTerms", required("must have at least one node selector term")
    for at, one in inside(given, "nodeSelectorTerms", "matchExpressions") if checks_values else ():
        yield from ((f"{at}{place}", text) for place, text in value_faults(one))


def value_faults(given: Given) -> Iterator[Fault]:
    """Of the values of a requirement that are no values of labels."""
    for at, value in enumerate(texts_of(given, "values") or ()):
        yield from wrong(f".values[{at}]", value, label_value_errors)


def min_domains(given: Given) -> Iterator[Fault]:
    """Upstream: validateMinDomains."""
    action = text_of(given, "whenUnsatisfiable")
    if given.get("minDomains") is not None and action and action != SCHEDULE_ACTIONS[0]:
        detail = f"can only use minDomains if whenUnsatisfiable={SCHEDULE_ACTIONS[0]}, not {action}"
        yield ".minDomains", invalid(given["minDomains"], detail)


def label_keys(given: Given) -> Iterator[Fault]:
    """Upstream: validateMatchLabelKeysInTopologySpread, validateMatchLabelKeysAndMismatchLabelKeys."""
    selector = object_of(given, "labelSelector")
    written = [one for _, one in inside(selector, "matchExpressions")]
    # In what a server has stored, each key of matchLabelKeys stands in the selector already, with the pod's own value.
    merged = [
        one.get("key") for one in written if one.get("operator") == "In" and len(texts_of(one, "values") or ()) == 1
    ]
    every = [*object_of(selector, "matchLabels"), *(one.get("key") for one in written)]
    selected = [key for key in every if key not in merged or every.count(key) > 1]  # not a set: a key may be anything
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = texts_of(given, field) or ()
        if keys and given.get("labelSelector") is None:
            yield f".{field}", forbidden("must not be specified when labelSelector is not set")
        for at, key in enumerate(keys):
            yield from wrong(f".{field}[{at}]", key, qualified_name_errors)
            if key in selected and field == "matchLabelKeys":
                yield f".{field}[{at}]", invalid(key, "exists in both matchLabelKeys and labelSelector")
            if field == "matchLabelKeys" and key in (texts_of(given, "mismatchLabelKeys") or ()):
                yield f".{field}[{at}]", invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys")


def resources(
    given: Given, above: Callable[[str, str, str], Fault], *, overcommits: bool, divides: bool
) -> Iterator[Fault]:
    """Names and amounts. above: (resource, request, limit) → the fault of a request above its limit. overcommits:
    whether requests of extended resources and huge pages may be below their limits. divides: huge pages are whole.

    Upstream: ValidateContainerResourceRequirements.
    """
    amounts: dict[str, dict[str, int]] = {}
    for field in ("limits", "requests"):
        for name, value in object_of(given, field).items():
            if not isinstance(name, str) or (milli := quantity_or_none(value)) is None:
                continue
            amounts.setdefault(field, {})[name] = milli
            place, shown = f".{field}[{name}]", _canonical(value, milli)
            yield from wrong(place, name, resource_name_errors)
            if milli < 0:
                yield place, invalid(shown, NEGATIVE)
            elif milli % 1000 and is_extended_resource(name):
                yield place, invalid(shown, "must be an integer")
            if divides and is_hugepage_resource(name):
                page = quantity_or_none(name.partition("-")[2])
                if not page or milli % page:
                    yield place, invalid(shown, f"{shown} is not positive integer multiple of {name}")
    named = {name for field in amounts.values() for name in field}
    if any(map(is_hugepage_resource, named)) and not named & {"cpu", "memory"}:
        yield "", forbidden("HugePages require cpu or memory")
    for name, request in amounts.get("requests", {}).items():
        limit = amounts.get("limits", {}).get(name)
        equal = not (overcommits or may_overcommit(name))
        if limit is None and equal:
            yield ".limits", required("Limit must be set for non overcommitable resources")
        elif limit is not None and (request > limit or (equal and request < limit)):
            both = [
                _canonical(given[field][name], milli) for field, milli in (("requests", request), ("limits", limit))
            ]
            place, text = above(name, *both)
            yield place, text.replace("less than or equal", "equal") if equal else text


def resource_name_errors(name: str) -> Iterator[str]:
    """Of a resource of containers. Upstream: validateContainerResourceName."""
    if errors := qualified_name_errors(name):
        yield from errors
        return
    if "/" in name:
        if not is_native_resource(name) and not is_extended_resource(name):
            yield "doesn't follow extended resource name standard"
        return
    if name in CONTAINER_RESOURCES or is_hugepage_resource(name):
        return
    if name not in STANDARD_RESOURCES:
        yield "must be a standard resource type or fully qualified"
    yield "must be a standard resource for containers"


def amounts(key: str, *, positive: str = "") -> Check:
    """Amounts that are not negative, and none at all of a resource for which there must be some."""

    def check(given: Given) -> Iterator[Fault]:
        for name, value in object_of(given, key).items():
            milli = quantity_or_none(value)
            if milli is not None and milli < 0:
                yield f".{key}[{name}]", invalid(_canonical(value, milli), NEGATIVE)
            elif milli == 0 and name == positive:
                yield f".{key}[{name}]", invalid("0", "must be greater than zero")

    return check


def _canonical(value: object, milli: int) -> str:
    return format_quantity(milli, binary=isinstance(value, str) and value.endswith("i"))


def port(given: Given) -> Iterator[Fault]:
    """Upstream: validateContainerPorts."""
    for key in ("containerPort", "hostPort"):
        number = given.get(key)
        number = 0 if number is None else number
        if not isinstance(number, int) or isinstance(number, bool):
            if key == "containerPort":  # what else is read is for decoding to report
                yield f".{key}", f"must be a whole number, not {describe(number)}"
            continue
        if not number and key == "containerPort":
            yield f".{key}", required()
        elif number and not 1 <= number <= 65535:
            yield f".{key}", invalid(number, "must be between 1 and 65535, inclusive")


def port_names(given: Given) -> Iterator[Fault]:
    """Those of a container's ports. Upstream: validateContainerPorts."""
    every = [(f"{at}.name", name) for at, one in inside(given, "ports") if (name := text_of(one, "name"))]
    for place, name in every:
        yield from wrong(place, name, port_name_errors)
    yield from repeated((place, name) for place, name in every if not any(port_name_errors(name)))


def port_name_errors(name: str) -> Iterator[str]:
    """Upstream: IsValidPortName."""
    import re

    if is_too_long(name, PORT_NAME_LENGTH):
        yield f"must be no more than {PORT_NAME_LENGTH} characters"
    if not re.fullmatch("[-a-z0-9]+", name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def host_ports(given: Given) -> Iterator[Fault]:
    """On its node's network a pod's ports are the node's. Upstream: validateHostNetwork."""
    for at, one in inside(given, "containers", "ports") if given.get("hostNetwork") is True else ():
        port, outside = one.get("containerPort"), one.get("hostPort")
        if port is not None and outside not in (None, 0, port):
            yield f"{at}.containerPort", invalid(port, "must match `hostPort` when `hostNetwork` is true")


def taken_ports(given: Given) -> Iterator[Fault]:
    """No two containers of a pod have one port of the node. Upstream: checkHostPortConflicts."""
    ports: list[tuple[str, str]] = []
    for at, one in inside(given, "containers", "ports"):
        if number := one.get("hostPort") or (given.get("hostNetwork") is True and one.get("containerPort")):
            ports.append((f"{at}.hostPort", f"{one.get('protocol') or 'TCP'}/{one.get('hostIP') or ''}/{number}"))
    return repeated(ports)


def pod_resources(given: Given) -> Iterator[Fault]:
    """Of the pod as a whole only cpu, memory and huge pages, and no less than its containers ask for, or may take.

    Upstream: validatePodResourceRequirements, validatePodResourceConsistency.
    """
    for field in ("requests", "limits") if given.get("resources") else ():
        for name, value in object_of(object_of(given, "resources"), field).items():
            place, milli = f".resources.{field}[{name}]", quantity_or_none(value)
            if isinstance(name, str) and not is_pod_level(name):
                yield place, unsupported(name, ("cpu", "hugepages-", "memory"))
            elif milli is not None and field == "requests" and milli < (asked := _asked(given).get(name, 0)):
                detail = f"must be greater than or equal to aggregate container requests of {amount_text(name, asked)}"
                yield place, invalid(_canonical(value, milli), detail)
            elif milli is not None and field == "limits":
                for at, one in inside(given, "containers", "resources", "limits"):
                    if (most := quantity_or_none(one.get(name))) is not None and most > milli:
                        detail = f"must be less than or equal to pod limits of {_canonical(value, milli)}"
                        yield f"{at}[{name}]", invalid(_canonical(one[name], most), detail)


def _asked(given: Given) -> dict[str, int]:
    """What the containers of a pod ask for together; those that say their limits alone ask for these."""
    faults: list[str] = []
    pod = msgspec.structs.replace(SPEC.read(Fields(given, faults)), resources=NO_RESOURCES, overhead=NO_RESOURCES)
    every = RequestsInUse(
        tuple(FrozenMap({**c.limits, **c.requests}) for c in pod.containers),
        tuple(FrozenMap({**c.limits, **c.requests}) for c in pod.init_containers),
        NO_RESOURCES,
    )
    return {} if faults else pod_requests(pod, every)


def namespaces(given: Given, *, errors: Errors) -> Iterator[Fault]:
    """Those of a term. Upstream: ValidateNamespaceName."""
    for at, name in enumerate(texts_of(given, "namespaces") or ()):
        yield from wrong(f".namespaces[{at}]", name, errors)


def one_source(given: Given) -> Iterator[Fault]:
    """A volume is of one type. Upstream: validateVolumeSource."""
    there = [source for source in VOLUME_SOURCES if given.get(source) is not None] if len(given) > 2 else []
    return ((f".{source}", forbidden("may not specify more than 1 volume type")) for source in there[1:])


def container_names(given: Given) -> Iterator[Fault]:
    """No two containers of a pod have one name. Upstream: validateContainers, validateInitContainers."""
    every = (each for key in reversed(CONTAINERS) for each in inside(given, key))
    return repeated((f"{at}.name", text_of(one, "name") or "") for at, one in every)


def restarts(given: Given, *, by_rules: bool) -> Iterator[Fault]:
    """Containers that start again otherwise than their pod. by_rules: whether each may, in any way, or init containers
    alone, always. Upstream: validateContainers, validateInitContainerRestartPolicy, validateContainerRestartPolicy."""
    for key in CONTAINERS:
        for at, one in inside(given, key):
            policy, place = text_of(one, "restartPolicy"), f"{at}.restartPolicy"
            if by_rules and policy == "" and one.get("restartPolicyRules"):
                yield place, required("must specify restartPolicy when restart rules are used")
            elif not by_rules and policy and key == "containers":
                yield place, forbidden("may not be set for non-init containers")
            elif not by_rules and policy and policy != "Always":
                yield place, unsupported(policy, ("Always",))


def pod_claims(given: Given) -> Iterator[Fault]:
    """The claims of a pod, and those that its containers use. Servers before 1.36 show a claim with addresses of their
    memory; here it is shown as 1.36 shows it.

    Upstream: validatePodResourceClaims, validateResourceClaimNames.
    """
    declared = [(f"{at}.name", text_of(one, "name")) for at, one in inside(given, "resourceClaims")]
    yield from ((place, required()) for place, name in declared if name == "")
    yield from repeated((place, name or "") for place, name in declared)
    for at, one in inside(given, "resourceClaims"):
        there = sum(one.get(key) is not None for key in CLAIM_SOURCES)
        if there > 1:
            yield (
                at,
                _shown_claim(one, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
            )
        elif not there:
            yield at, _shown_claim(one, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
    names = sorted({name for _, name in declared if name})
    known = f": {', '.join(names)}" if names else " which is empty"
    for key in CONTAINERS:
        for at, used in inside(given, key, "resources", "claims"):
            name = text_of(used, "name")
            if name == "":
                yield at, required()
            elif name is not None and name not in names:
                yield at, not_found(name, f"must be one of the names in pod.spec.resourceClaims{known}")


def _shown_claim(given: Given, detail: str) -> str:
    fields = {f"{key[0].upper()}{key[1:]}": given.get(key) for key in ("name", *CLAIM_SOURCES)}
    return f"Invalid value: {_as_json(fields)}: {detail}"


def _as_json(fields: Given) -> str:
    import json

    return json.dumps(fields, default=str, separators=(",", ":"))


def device_amount(given: Given) -> Iterator[Fault]:
    """A request for devices with its class and how many: of none at all the server makes one.

    Upstream: validateExactDeviceRequest, SetDefaults_ExactDeviceRequest.
    """
    if text_of(given, "deviceClassName") == "":
        yield ".deviceClassName", required()
    mode, count = text_of(given, "allocationMode") or EXACT_COUNT, given.get("count")
    if not isinstance(count, int) or isinstance(count, bool):
        return
    if mode == ALL and count:
        yield ".count", invalid(count, f"must not be specified when allocationMode is '{ALL}'")
    elif mode == EXACT_COUNT and count < 0:
        yield ".count", invalid(count, "must be greater than zero")


def device_request(given: Given) -> Iterator[Fault]:
    """That of v1beta1 is what it asks for itself. Upstream: validateDeviceRequest."""
    exactly = given.get("exactly")
    flat = [key for key in FLAT_REQUEST if given.get(key) is not None]
    if given.get("firstAvailable") and (exactly is not None or flat):
        detail = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        yield "", f"Invalid value: null: {detail}"
    elif flat:
        yield from device_amount(given)


def device_claim(given: Given) -> Iterator[Fault]:
    """What is said of requests is said of those that are there. Upstream: validateRequestNameRef."""
    names: set[str] = set()
    for _, one in inside(given, "requests"):
        name = text_of(one, "name") or ""
        names |= {name, *(f"{name}/{text_of(sub, 'name')}" for _, sub in inside(one, "firstAvailable"))}
    detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    for key in ("constraints", "config"):
        for at, one in inside(given, key):
            for which, name in enumerate(texts_of(one, "requests") or ()):
                if name not in names:
                    yield f"{at}.requests[{which}]", invalid(name, detail)


def gates(given: Given) -> Iterator[Fault]:
    """Upstream: validateSchedulingGates, and ValidatePodCreate."""
    names = [(at, text_of(one, "name") or "") for at, one in inside(given, "schedulingGates")]
    for place, name in names:
        yield from wrong(place, name, qualified_name_errors)
    yield from repeated(names)
    if names and text_of(given, "nodeName"):
        yield ".nodeName", forbidden("cannot be set until all schedulingGates have been cleared")


def priority_class(given: Given) -> Iterator[Fault]:
    """Upstream: ValidatePriorityClass."""
    value, name = given.get("value"), text_of(object_of(given, "metadata"), "name") or ""
    if name in ("system-node-critical", "system-cluster-critical"):
        return
    if name.startswith(SYSTEM):
        detail = f"priority class names with '{SYSTEM}' prefix are reserved for system use only"
        yield ".metadata.name", forbidden(detail)
    if isinstance(value, int) and value > HIGHEST_PRIORITY:
        yield ".value", forbidden(f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}")


def budget(given: Given, *, maximum: bool) -> Iterator[Fault]:
    """What a budget allows. maximum: whether the release knows maxUnavailable. Where both are there, servers before
    1.36 show the spec with addresses of their memory; here it is shown as 1.36 shows it.

    Upstream: ValidatePodDisruptionBudgetSpec, ValidatePositiveIntOrPercent, IsNotMoreThan100Percent.
    """
    there = [key for key in ("minAvailable", "maxUnavailable")[: 1 + maximum] if given.get(key) is not None]
    if len(there) > 1:
        names = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
        shown = _as_json({name[0].upper() + name[1:]: given.get(name) for name in names})
        yield "", f"Invalid value: {shown}: minAvailable and maxUnavailable cannot be both set"
    for key in there:
        value = given[key]
        if isinstance(value, int) and not isinstance(value, bool) and value < 0:
            yield f".{key}", invalid(value, NEGATIVE)
        elif isinstance(value, str) and not (value[-1:] == "%" and value[:-1].isascii() and value[:-1].isdecimal()):
            rule = "a valid percent string must be a numeric string followed by an ending '%'"
            yield f".{key}", invalid(value, must_match(rule, "[0-9]+%", "1%", "93%"))
        elif isinstance(value, str) and int(value[:-1]) > 100:
            yield f".{key}", invalid(value, "must not be greater than 100%")


# --- what differs between releases, and the tables -------------------------------------------


class Differences(msgspec.Struct, frozen=True):
    """What the servers of releases do not have in common."""

    label: str = "a DNS-1123 label"
    """What names of containers, volumes and namespaces are called."""
    above: Callable[[str, str, str], Fault] = lambda name, request, _: (
        ".requests",
        invalid(request, f"must be less than or equal to {name} limit"),
    )
    """Of a request above its limit."""
    overcommits: bool = False
    """Whether requests of extended resources may be below their limits."""
    divides: bool = False
    """Whether amounts of huge pages have to be whole pages (1.23)."""
    maximum: bool = True
    """Whether budgets have maxUnavailable (1.7)."""
    counts: bool = False
    """Whether the numbers in the status of a budget are checked: in policy/v1 (1.21), not in v1beta1."""
    checks_values: bool = False
    """Whether the values that selectors of labels ask for have to be values of labels."""
    checks_nodes: bool = False
    """Whether those of selectors of nodes have to be (1.33)."""
    compares: bool = False
    """Whether tolerations compare."""
    by_rules: bool | None = None
    """See ``restarts``; None: containers have no such field."""


def label_errors(text: str, called: str) -> Iterator[str]:
    """What is wrong with the name of a container, a volume or a namespace."""
    import re

    pattern = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
    if is_too_long(text, NAME_LENGTH):
        yield f"must be no more than {NAME_LENGTH} characters"
    if not re.fullmatch(pattern, text):
        rule = (
            f"{called} must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character"
        )
        yield must_match(rule, pattern, "my-name", "123-abc")


@cache
def checks_of(differs: Differences) -> Checks:
    """The table of a release."""
    label = partial(label_errors, called=differs.label)
    weight = whole("weight", "must be in the range 1-100", 1, 100)
    key = present("topologyKey", "can not be empty")
    selector = partial(requirement, checks_values=differs.checks_values)
    return {
        "ObjectMeta": (labels("labels"), labels("annotations", values=False), named("namespace", label)),
        "PodSpec": (
            labels("nodeSelector"),
            container_names,
            host_ports,
            taken_ports,
            pod_resources,
            amounts("overhead"),
            gates,
            unique(
                "topologySpreadConstraints",
                *("topologyKey", "whenUnsatisfiable"),
                place=".{topologyKey, whenUnsatisfiable}",
                shown="{{{}, {}}}",
            ),
            unique("volumes", "name", place=".name", shown="{}"),
            pod_claims,
            *(() if differs.by_rules is None else (RESTARTS[differs.by_rules],)),
        ),
        "Container": (present("name"), named("name", label), port_names),
        "Volume": (named("name", label), one_source),
        "PersistentVolumeClaimVolumeSource": (present("claimName"),),
        "ContainerPort": (port,),
        "ResourceRequirements": (
            partial(resources, above=differs.above, overcommits=differs.overcommits, divides=differs.divides),
        ),
        "Toleration": (named("key", qualified_name_errors), partial(toleration, compares=differs.compares)),
        "Taint": (taint,),
        "NodeSpec": (unique("taints", "key", "effect", place="", shown="{0}:{1}"),),
        "NodeStatus": (amounts("capacity"), amounts("allocatable")),
        "PreferredSchedulingTerm": (weight,),
        "WeightedPodAffinityTerm": (weight,),
        "NodeSelector": (partial(node_selector, checks_values=differs.checks_nodes),),
        "NodeSelectorTerm": (node_term,),
        "PodAffinityTerm": (
            key,
            named("topologyKey", qualified_name_errors),
            label_keys,
            partial(namespaces, errors=label),
        ),
        "LabelSelector": (labels("matchLabels"),),
        "LabelSelectorRequirement": (selector,),
        "TopologySpreadConstraint": (
            whole("maxSkew", "must be greater than zero", 1),
            key,
            one_of("whenUnsatisfiable", SCHEDULE_ACTIONS),
            whole("minDomains", "must be greater than zero", 1, needed=False),
            min_domains,
            label_keys,
        ),
        "ServiceSpec": (labels("selector"),),
        "PodDisruptionBudgetSpec": (partial(budget, maximum=differs.maximum),),
        "PodDisruptionBudgetStatus": tuple(whole(key, NEGATIVE, 0) for key in BUDGET_COUNTS if differs.counts),
        "PriorityClass": (priority_class,),
        "PersistentVolumeSpec": (amounts("capacity", positive="storage"),),
        "DeviceClaim": (device_claim,),
        "DeviceRequest": (device_request,),
        "ExactDeviceRequest": (device_amount,),
        "DeviceSubRequest": (device_amount,),
    }


RESTARTS = {by_rules: partial(restarts, by_rules=by_rules) for by_rules in (False, True)}
RFC_1123 = "a lowercase RFC 1123 label"
CHECKS_1_4 = checks_of(
    Differences(
        above=lambda name, _, limit: (
            f".limits[{name}]",
            invalid(limit, "must be greater than or equal to request"),
        ),
        overcommits=True,
        maximum=False,
    )
)
CHECKS_1_16 = checks_of(Differences())
CHECKS_1_20 = checks_of(Differences(label=RFC_1123))
DIFFERS_1_25 = Differences(
    label=RFC_1123,
    above=lambda name, request, limit: (
        ".requests",
        invalid(request, f"must be less than or equal to {name} limit of {limit}"),
    ),
    divides=True,
    counts=True,
    checks_values=True,
    by_rules=False,
)
DIFFERS_1_33 = msgspec.structs.replace(DIFFERS_1_25, checks_nodes=True)
DIFFERS_1_34 = msgspec.structs.replace(DIFFERS_1_33, by_rules=True)
CHECKS_1_36 = checks_of(msgspec.structs.replace(DIFFERS_1_34, compares=True))


OF_FIELDS: Mapping[Check, str] = {
    pod_resources: "resources",
    pod_claims: "resourceClaims",
    gates: "schedulingGates",
    RESTARTS[False]: "initContainers.restartPolicy",
}
"""Check of a pod's spec → the field that it is about, of those in ``clusterstate.manifests.unread``."""


def checks_of_read(checks: Checks, unread: Container[str]) -> Checks:
    """Without those of fields that the release does not look at: it drops them before anything is checked."""
    if not checks:
        return checks
    return {**checks, "PodSpec": tuple(check for check in checks["PodSpec"] if OF_FIELDS.get(check) not in unread)}


# --- asking them -----------------------------------------------------------------------------


def refused(kind: str, manifest: Given, checks: Checks) -> list[str]:
    """``path: text`` for everything in a manifest that an API server refuses; nothing for a kind in no table."""
    return list(_in_object(manifest, kind, "", checks)) if checks and kind in known_types() else []


def refused_spec(spec: Given, checks: Checks) -> bool:
    """Whether a pod's spec has anything that an API server refuses."""
    return any(_in_object(spec, "PodSpec", "", checks))


def _in_object(given: Given, kind: str, path: str, checks: Checks) -> Iterator[str]:
    for check in checks.get(kind, ()):
        for place, text in check(given):
            yield f"{path}{place}: {text}".lstrip(".")
    for key, known in _leading(kind).items():
        value = given.get(key)
        if value is not None:
            for one, place in objects_in(value, known, f"{path}.{key}"):
                yield from _in_object(one, known.type, place, checks)


@cache
def _leading(kind: str) -> Mapping[str, Any]:
    """The fields of a type below which there is a type with checks."""
    return {
        name: known
        for name, known in known_types()[kind].items()
        if known.type and known.type != kind and _leads(known.type, (kind,))
    }


def _leads(kind: str, within: tuple[str, ...]) -> bool:
    if kind in CHECKS_1_36:
        return True
    inside = {known.type for known in known_types()[kind].values() if known.type} - {kind, *within}
    return any(_leads(each, (*within, kind)) for each in inside)
