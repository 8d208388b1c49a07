"""The kinds of objects that a scheduler reads: their API groups, and a table of the fields that are read of each.

From the same tables come objects of manifests (``ManifestKind.table.read``), manifests of objects (``encode_object``)
and what names stand where (``clusterstate.manifests.tables.Role``). A new field has one line here, and one in its
record. Read ``clusterstate.manifests.tables`` first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from clusterstate import objects as o
from clusterstate.manifests.fields import Fields, describe, present
from clusterstate.manifests.tables import (
    FieldTable,
    Inline,
    KeyedField,
    TablePart,
    Write,
    at,
    bytes_text,
    child,
    each,
    flag,
    inline,
    integer,
    labels,
    own,
    quantity,
    resources,
    text,
    texts,
    texts_of,
    word,
    words,
)
from kubecel.api_names import is_object_name, subdomain_errors

# --- what many kinds have in common ----------------------------------------------------------

OWNER = FieldTable(
    o.OwnerReference,
    word("kind"),
    text("name"),
    text("uid"),
    flag("controller"),
    word("apiVersion"),
    written="apiVersion",
)
METADATA = FieldTable(
    o.ObjectMeta,
    text("name"),
    text("namespace"),
    text("uid"),
    labels("labels"),
    labels("annotations"),
    each("ownerReferences", OWNER),
    word("creationTimestamp"),
    word("deletionTimestamp"),
)


def _metadata(manifest: Fields, key: str) -> o.ObjectMeta:
    """``metadata`` of any object. A name is a must."""
    meta = manifest.inside(key)
    if not meta.has("name"):
        meta.fault(".name", "missing; every object needs a name")
    for name in ("name", "namespace"):
        value = meta.data.get(name)
        if isinstance(value, str) and value and not is_object_name(value):
            meta.fault(f".{name}", f"{describe(value)} is no {name}: {'; '.join(subdomain_errors(value))}")
    return METADATA.read(meta)


META = own("metadata", _metadata, METADATA.write, tables=(METADATA,))

REQUIREMENT = FieldTable(o.Requirement, word("key"), word("operator"), texts("values"))
LABEL_SELECTOR = FieldTable(o.LabelSelector, labels("matchLabels"), each("matchExpressions", REQUIREMENT))
NODE_SELECTOR_TERM = FieldTable(
    o.NodeSelectorTerm, each("matchExpressions", REQUIREMENT), each("matchFields", REQUIREMENT)
)


def node_selector(key: str, name: str = "") -> KeyedField:
    """The terms of a node selector, None where there is none."""

    def read(fields: Fields, key: str) -> tuple[o.NodeSelectorTerm, ...] | None:
        selector = fields.child(key)
        return None if selector is None else tuple(map(NODE_SELECTOR_TERM.read, selector.children("nodeSelectorTerms")))

    return own(key, read, write_terms, name, tables=(NODE_SELECTOR_TERM,))


def write_terms(terms: Iterable[o.NodeSelectorTerm]) -> dict[str, Any]:
    """A node selector."""
    return {"nodeSelectorTerms": [NODE_SELECTOR_TERM.write(term) for term in terms]}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

TAINT = FieldTable(o.Taint, word("key"), text("value"), word("effect"))
TOLERATION = FieldTable(
    o.Toleration, word("key"), word("operator"), text("value"), word("effect"), integer("tolerationSeconds")
)

# --- pods ------------------------------------------------------------------------------------

_PREFERRED_NODES = FieldTable(o.PreferredSchedulingTerm, integer("weight"), child("preference", NODE_SELECTOR_TERM))
NODE_AFFINITY = FieldTable(
    o.NodeAffinity, node_selector(REQUIRED, "required"), each(PREFERRED, _PREFERRED_NODES, "preferred")
)
_POD_TERM = FieldTable(
    o.PodAffinityTerm,
    word("topologyKey"),
    child("labelSelector", LABEL_SELECTOR),
    texts("namespaces"),
    child("namespaceSelector", LABEL_SELECTOR),
    words("matchLabelKeys"),
    words("mismatchLabelKeys"),
    written="labelSelector namespaces namespaceSelector",
)
_PREFERRED_PODS = FieldTable(o.WeightedPodAffinityTerm, integer("weight"), child("podAffinityTerm", _POD_TERM, "term"))
_POD_AFFINITY = FieldTable(
    o.PodAffinity, each(REQUIRED, _POD_TERM, "required"), each(PREFERRED, _PREFERRED_PODS, "preferred")
)
AFFINITY = FieldTable(
    o.Affinity,
    child("nodeAffinity", NODE_AFFINITY),
    child("podAffinity", _POD_AFFINITY),
    child("podAntiAffinity", _POD_AFFINITY),
)
SPREAD_CONSTRAINT = FieldTable(
    o.TopologySpreadConstraint,
    integer("maxSkew"),
    word("topologyKey"),
    word("whenUnsatisfiable"),
    child("labelSelector", LABEL_SELECTOR),
    integer("minDomains"),
    word("nodeAffinityPolicy"),
    word("nodeTaintsPolicy"),
    words("matchLabelKeys"),
)

_PORT = FieldTable(o.ContainerPort, integer("hostPort"), text("hostIP", role="address"), word("protocol"))


def _read_ports(fields: Fields, key: str) -> tuple[o.ContainerPort, ...]:
    """Those with a hostPort; of the others nothing is asked of a node."""
    return tuple([port for port in map(_PORT.read, fields.children(key)) if port.host_port])


def _write_ports(ports: Iterable[o.ContainerPort]) -> list[dict[str, Any]]:
    """The container's own port is not kept; the API wants one, and the host's is as good as any."""
    return [{"containerPort": port.host_port, **_PORT.write(port)} for port in ports]


CONTAINER = FieldTable(
    o.Container,
    text("name", always=True),
    text("image", role="image"),
    own("ports", _read_ports, _write_ports, tables=(_PORT,)),
    word("restartPolicy"),
    texts_of("restartPolicyRules", "action", "restart_rule_actions", "word"),
    at("resources", resources("requests"), resources("limits"), dropped=True),
    written="name image resources",
)
_RESOURCE_CLAIM = FieldTable(
    o.PodResourceClaim, text("name"), text("resourceClaimName"), text("resourceClaimTemplateName")
)

SOURCES: dict[str, FieldTable[Any]] = {
    "gcePersistentDisk": FieldTable(o.GCEPersistentDisk, text("pdName"), flag("readOnly")),
    "awsElasticBlockStore": FieldTable(o.AWSElasticBlockStore, text("volumeID"), flag("readOnly")),
    "rbd": FieldTable(
        o.RBD, texts("monitors"), text("image", role="image"), text("pool", always=True), flag("readOnly")
    ),
    "iscsi": FieldTable(o.ISCSI, text("iqn"), flag("readOnly")),
    "azureDisk": FieldTable(o.AzureDisk, text("diskName"), text("diskURI")),
    "cinder": FieldTable(o.Cinder, text("volumeID")),
    "portworxVolume": FieldTable(o.PortworxVolume, text("volumeID")),
    "csi": FieldTable(o.CSI, word("driver"), text("volumeHandle")),
}
"""Field of a pod's volume or of a PersistentVolume's spec → what is read of it."""
_SOURCE_OF = {table.record: (key, table) for key, table in SOURCES.items()}
_CLAIM_VOLUME = FieldTable(o.ClaimVolume, text("claimName"), flag("readOnly"))
_IMAGE_VOLUME = FieldTable(o.ImageVolume, text("reference", role="image"))
VOLUME_KEYS = ("name", *SOURCES, "persistentVolumeClaim", "ephemeral", "image")
"""What is read of a pod's volume."""

LONG_EBS_ID = "aws://"
"""How an id begins that also names the zone."""


def _read_source(fields: Fields) -> o.VolumeSource | None:
    for key, table in SOURCES.items():
        if fields.has(key):
            source = fields.child(key)
            return None if source is None else table.read(source)
    return None


def _write_source(source: o.VolumeSource) -> dict[str, Any]:
    if type(source) not in _SOURCE_OF:
        raise TypeError(f"{type(source).__name__} is a volume of pods only")
    key, table = _SOURCE_OF[type(source)]
    return {key: table.write(source)}


def _read_volume(volume: Fields) -> o.VolumeSource | None:
    """None for a type that scheduling does not read."""
    claim = volume.child("persistentVolumeClaim")
    if claim is not None:
        return _CLAIM_VOLUME.read(claim)
    if volume.child("ephemeral") is not None:
        return o.EphemeralVolume(volume.text("name"))
    image = volume.child("image")
    if image is not None:
        return _IMAGE_VOLUME.read(image)
    source = _read_source(volume)
    if isinstance(source, o.AWSElasticBlockStore) and source.volume_id.startswith(LONG_EBS_ID):
        return msgspec.structs.replace(source, volume_name=volume.text("name"))
    return source


def _write_volume(index: int, volume: o.VolumeSource) -> dict[str, Any]:
    """A volume is named by its number where its name is not kept."""
    name = f"volume-{index}"
    if isinstance(volume, o.EphemeralVolume):
        return {"name": volume.volume_name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    if isinstance(volume, o.ClaimVolume):
        return {"name": name, "persistentVolumeClaim": _CLAIM_VOLUME.write(volume)}
    if isinstance(volume, o.ImageVolume):
        return {"name": name, "image": _IMAGE_VOLUME.write(volume)}
    if isinstance(volume, o.AWSElasticBlockStore):
        name = volume.volume_name or name
    return {"name": name, **_write_source(volume)}


VOLUMES = own(
    "volumes",
    lambda fields, key: tuple([v for v in map(_read_volume, fields.children(key)) if v is not None]),
    lambda volumes: [_write_volume(index, volume) for index, volume in enumerate(volumes)],
    tables=(*SOURCES.values(), _CLAIM_VOLUME, _IMAGE_VOLUME),
)

SPEC = FieldTable(
    o.PodSpec,
    each("containers", CONTAINER, always=True),
    each("initContainers", CONTAINER),
    VOLUMES,
    labels("nodeSelector"),
    child("affinity", AFFINITY),
    each("tolerations", TOLERATION),
    each("topologySpreadConstraints", SPREAD_CONSTRAINT),
    integer("priority"),
    text("priorityClassName"),
    word("preemptionPolicy"),
    word("schedulerName"),
    flag("hostNetwork"),
    resources("overhead"),
    at("resources", resources("requests", "resources"), dropped=True),
    texts_of("schedulingGates", "name", "scheduling_gates", "name"),
    flag("hostUsers"),
    at("schedulingGroup", text("podGroupName", "scheduling_group"), dropped=True),
    each("resourceClaims", _RESOURCE_CLAIM),
    text("runtimeClassName"),
)

CONDITION = FieldTable(o.PodCondition, word("type"), word("status"), word("reason"))
CLAIM_STATUS = FieldTable(o.ResourceClaimStatus, text("name"), text("resourceClaimName"))
GRANT = FieldTable(o.Grant, at("resources", resources("requests")), resources("allocatedResources", "allocated"))
CONTAINER_STATUSES = ("containerStatuses", "initContainerStatuses")


def read_grants(status: Fields) -> o.PodGrants | None:
    """What was granted to containers and pod; None when the status says nothing of it."""
    containers: dict[str, o.Grant] = {}
    for key in CONTAINER_STATUSES:
        for container in status.children(key):
            grant = _read_grant(container)
            if grant is not None:
                containers[container.text("name")] = grant
    pod = _read_grant(status)
    return None if pod is None and not containers else o.PodGrants(o.FrozenMap(containers), pod)


def _read_grant(status: Fields) -> o.Grant | None:
    return None if status.child("resources") is None else GRANT.read(status)


def _write_grants(grants: o.PodGrants) -> dict[str, Any]:
    """Statuses of init containers stand among those of containers."""
    containers = [{"name": name, **GRANT.write(grant)} for name, grant in grants.containers.items()]
    of_pod = {} if grants.pod is None else GRANT.write(grants.pod)
    return {"containerStatuses": containers, **of_pod} if containers else of_pod


POD = FieldTable(
    o.Pod,
    META,
    at("spec", inline("spec", SPEC), text("nodeName"), written="nodeName"),
    at(
        "status",
        word("phase"),
        text("nominatedNodeName"),
        word("startTime"),
        each("conditions", CONDITION),
        Inline("grants", read_grants, _write_grants, tables=(GRANT,)),
        each("resourceClaimStatuses", CLAIM_STATUS),
        written="phase nominatedNodeName startTime conditions resourceClaimStatuses",
    ),
)

# --- nodes, namespaces and what governs pods -------------------------------------------------

_IMAGE = FieldTable(o.ContainerImage, texts("names", role="image"), integer("sizeBytes"))
NODE_CONDITION = FieldTable(o.NodeCondition, word("type"), word("status"))
NODE = FieldTable(
    o.Node,
    META,
    at("spec", flag("unschedulable"), each("taints", TAINT)),
    at(
        "status",
        resources("allocatable"),
        resources("capacity"),
        each("conditions", NODE_CONDITION),
        each("images", _IMAGE),
        words("declaredFeatures"),
    ),
)
SERVICE = FieldTable(o.Service, META, at("spec", labels("selector")))
REPLICATION_CONTROLLER = FieldTable(
    o.ReplicationController, META, at("spec", labels("selector"), integer("replicas", always=True), written="replicas")
)
_SET_SPEC = at("spec", child("selector", LABEL_SELECTOR), integer("replicas", always=True), written="replicas")
PRIORITY_CLASS = FieldTable(
    o.PriorityClass, META, integer("value", always=True), flag("globalDefault"), word("preemptionPolicy")
)
RUNTIME_CLASS = FieldTable(
    o.RuntimeClass,
    META,
    at("overhead", resources("podFixed", "overhead")),
    at("scheduling", labels("nodeSelector"), each("tolerations", TOLERATION)),
)
_LIMIT = FieldTable(
    o.LimitRangeItem,
    word("type"),
    *map(resources, ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")),
)
LIMIT_RANGE = FieldTable(o.LimitRange, META, at("spec", each("limits", _LIMIT)))
_SOME_TIME = "1970-01-01T00:00:00Z"
"""When a pod's disruption began: not kept, but the API's map wants a value."""
_DISRUPTED_PODS = own(
    "disruptedPods",
    lambda fields, key: tuple(sorted(map(str, fields.inside(key).data))),
    lambda names: dict.fromkeys(names, _SOME_TIME),
    role="keys",
)


def _count_or_share(key: str) -> KeyedField:
    """A whole number, or a text such as "50%"."""

    def read(fields: Fields, key: str) -> Any:
        return fields.text(key) if isinstance(fields.data.get(key), str) else fields.integer_or_none(key)

    return own(key, read, lambda value: value, role="word")


POD_DISRUPTION_BUDGET = FieldTable(
    o.PodDisruptionBudget,
    META,
    at(
        "spec",
        child("selector", LABEL_SELECTOR),
        _count_or_share("minAvailable"),
        _count_or_share("maxUnavailable"),
        word("unhealthyPodEvictionPolicy"),
    ),
    at("status", integer("disruptionsAllowed", always=True), _DISRUPTED_PODS),
    Inline(
        "is_counted", lambda manifest: bool(manifest.data.get("status")), lambda known: {} if known else {"status": {}}
    ),
)

# --- storage ---------------------------------------------------------------------------------

_CLAIM_REFERENCE = FieldTable(o.ClaimReference, text("namespace"), text("name"), text("uid", always=True))
_PHASE = at("status", word("phase"), dropped=True)
PERSISTENT_VOLUME = FieldTable(
    o.PersistentVolume,
    META,
    at(
        "spec",
        Inline("source", _read_source, _write_source, tables=tuple(SOURCES.values())),
        at("capacity", quantity("storage"), dropped=True),
        words("accessModes"),
        text("storageClassName"),
        word("volumeMode"),
        child("claimRef", _CLAIM_REFERENCE),
        at("nodeAffinity", node_selector("required", "node_affinity"), dropped=True),
        text("volumeAttributesClassName"),
        written="capacity accessModes storageClassName volumeMode claimRef nodeAffinity volumeAttributesClassName",
    ),
    _PHASE,
)
PERSISTENT_VOLUME_CLAIM = FieldTable(
    o.PersistentVolumeClaim,
    META,
    at(
        "spec",
        text("volumeName"),
        at("resources", at("requests", quantity("storage"), dropped=True), dropped=True),
        words("accessModes"),
        text("storageClassName"),
        word("volumeMode"),
        child("selector", LABEL_SELECTOR),
        text("volumeAttributesClassName"),
    ),
    _PHASE,
)


def _read_topologies(fields: Fields, key: str) -> tuple[tuple[o.Requirement, ...], ...]:
    return tuple(
        tuple(o.Requirement(e.text("key"), "In", e.texts("values")) for e in term.children("matchLabelExpressions"))
        for term in fields.children(key)
    )


def _write_topologies(terms: Iterable[Iterable[o.Requirement]]) -> list[dict[str, Any]]:
    return [{"matchLabelExpressions": [{"key": r.key, "values": list(r.values)} for r in term]} for term in terms]


STORAGE_CLASS = FieldTable(
    o.StorageClass,
    META,
    word("provisioner", always=True),
    word("volumeBindingMode"),
    own("allowedTopologies", _read_topologies, _write_topologies, tables=(REQUIREMENT,)),
)
_NODE_DRIVER = FieldTable(
    o.CSINodeDriver,
    text("name"),
    text("nodeID", always=True),
    words("topologyKeys"),
    at("allocatable", integer("count"), dropped=True),
)
CSI_NODE = FieldTable(o.CSINode, META, at("spec", each("drivers", _NODE_DRIVER, always=True)))
CSI_DRIVER = FieldTable(
    o.CSIDriver,
    META,
    at(
        "spec",
        flag("attachRequired", always=True),
        flag("storageCapacity", always=True),
        flag("preventPodSchedulingIfMissing"),
    ),
)
CSI_STORAGE_CAPACITY = FieldTable(
    o.CSIStorageCapacity,
    META,
    text("storageClassName", always=True),
    child("nodeTopology", LABEL_SELECTOR),
    quantity("capacity"),
    quantity("maximumVolumeSize"),
)
VOLUME_ATTACHMENT = FieldTable(
    o.VolumeAttachment,
    META,
    at(
        "spec",
        word("attacher", always=True),
        text("nodeName", always=True),
        at("source", text("persistentVolumeName", "volume_name")),
    ),
)

# --- devices: what there is ------------------------------------------------------------------


_SELECTORS = KeyedField(
    "selectors",
    "",
    lambda _: lambda fields, key: tuple([s.inside("cel").text("expression") for s in fields.children(key)]),
    lambda expressions: [{"cel": {"expression": expression}} for expression in expressions],
    roles=(("expression", "word"),),
)
"""CEL expressions."""


def _valued_amounts(key: str, always: bool = False) -> KeyedField:
    """Quantities that stand in objects with a ``value``."""

    def read(fields: Fields, key: str) -> o.ResourceList:
        amounts = fields.inside(key)
        return o.FrozenMap({name: amounts.inside(name).quantity("value") for name in map(str, amounts.data)})

    def write(amounts: o.ResourceList) -> dict[str, Any]:
        return {name: {"value": bytes_text(milli)} for name, milli in amounts.items()}

    return own(key, read, write, role="amounts", always=always)


def _plain_amounts(amounts: o.ResourceList) -> dict[str, str]:
    return {name: bytes_text(milli) for name, milli in amounts.items()}


def _read_attributes(fields: Fields, key: str) -> o.FrozenMap[str, o.DeviceAttribute]:
    attributes = fields.inside(key)
    pairs = ((name, _read_attribute(attributes.inside(name))) for name in map(str, attributes.data))
    return o.FrozenMap({name: value for name, value in pairs if value is not None})


def _read_attribute(fields: Fields) -> o.DeviceAttribute | None:
    if fields.has("int"):
        return o.DeviceAttribute("int", fields.integer("int"))
    if fields.has("bool"):
        return o.DeviceAttribute("bool", fields.flag("bool"))
    for kind in ("string", "version"):
        if fields.has(kind):
            return o.DeviceAttribute(kind, fields.text(kind))
    fields.fault("", "needs one of int, bool, string and version")
    return None


_POLICY = FieldTable(
    o.RequestPolicy,
    quantity("default"),
    own("validValues", Fields.quantities, lambda amounts: list(map(bytes_text, amounts))),
    at("validRange", quantity("min", "minimum"), quantity("max", "maximum"), quantity("step"), dropped=True),
)


class _Policies(TablePart):
    """How requests for capacities are rounded: it stands with the amounts, which are written before it."""

    key, name = "capacity", "policies"

    def reading(self, _: Mapping[str, Any]) -> tuple[Any, bool]:
        return self._read, False

    def _read(self, fields: Fields, key: str) -> o.FrozenMap[str, o.RequestPolicy]:
        capacity = fields.inside(key)
        policies = ((name, capacity.inside(name).child("requestPolicy")) for name in map(str, capacity.data))
        return o.FrozenMap({name: _POLICY.read(policy) for name, policy in policies if policy is not None})

    def writing(self, _: Mapping[str, Any]) -> Write:
        def write(record: o.Device, out: dict[str, Any]) -> None:
            for name, policy in record.policies.items():
                out["capacity"][name]["requestPolicy"] = _POLICY.write(policy)

        return write


FLAT_VERSION, NEWEST_VERSION = "resource.k8s.io/v1beta1", "resource.k8s.io/v1"
"""In the first what is in ``exactly`` stands in the request itself, and what a device is in its ``basic``."""

PLACEMENT = FieldTable(o.Placement, text("nodeName"), node_selector("nodeSelector"), flag("allNodes"))
_DEVICE = FieldTable(
    o.Device,
    text("name"),
    own(
        "attributes",
        _read_attributes,
        lambda attributes: {name: {a.kind: a.value} for name, a in attributes.items()},
        role="as written",
    ),
    _valued_amounts("capacity"),
    _Policies(),
    each(
        "consumesCounters",
        FieldTable(o.CounterSet, text("counterSet", "name"), _valued_amounts("counters", always=True)),
    ),
    each("taints", TAINT),
    inline("placement", PLACEMENT),
    flag("bindsToNode"),
    words("bindingConditions"),
    words("bindingFailureConditions"),
    flag("allowMultipleAllocations", "shareable"),
)


def _read_devices(fields: Fields, key: str) -> tuple[o.Device, ...]:
    return tuple(map(_read_device, fields.children(key)))


def _read_device(device: Fields) -> o.Device:
    if not device.has("basic"):
        return _DEVICE.read(device)
    if device.api_version != FLAT_VERSION:
        device.fault(".basic", f"unknown field; in {NEWEST_VERSION} what is in it stands in the device itself")
    read = _DEVICE.read(device.inside("basic"))
    return msgspec.structs.replace(read, name=device.text("name"))


RESOURCE_SLICE = FieldTable(
    o.ResourceSlice,
    META,
    at(
        "spec",
        word("driver"),
        at(
            "pool",
            text("name", "pool", always=True),
            integer("generation", always=True),
            integer("resourceSliceCount", "slice_count", always=True),
        ),
        inline("placement", PLACEMENT),
        flag("perDeviceNodeSelection", "per_device"),
        own("devices", _read_devices, lambda devices: list(map(_DEVICE.write, devices)), tables=(_DEVICE,)),
        each("sharedCounters", FieldTable(o.CounterSet, text("name"), _valued_amounts("counters", always=True))),
    ),
)


def _read_parameters(fields: Fields, key: str) -> str:
    """As JSON whose keys are sorted, so that equal ones are equal."""
    parameters = fields.child(key)
    if parameters is None:
        return ""
    try:
        return msgspec.json.encode(parameters.data, order="sorted").decode()
    except TypeError:
        parameters.fault("", "every key in it must be text; put numbers in quotes")
        return ""


_CONFIG = FieldTable(
    o.DeviceConfig,
    at(
        "opaque",
        word("driver"),
        own("parameters", _read_parameters, msgspec.json.decode, role="dropped"),
    ),
    texts("requests"),
    word("source"),
    written="source requests",
)
DEVICE_CLASS = FieldTable(
    o.DeviceClass, META, at("spec", _SELECTORS, each("config", _CONFIG), word("extendedResourceName"))
)

# --- devices: what is asked for, and what is allocated ---------------------------------------


class _Count(TablePart):
    """How many devices; whoever asks for all of them says none."""

    key = name = "count"

    def reading(self, _: Mapping[str, Any]) -> tuple[Any, bool]:
        return lambda fields, key: fields.integer(key, 1), False

    def writing(self, _: Mapping[str, Any]) -> Write:
        def write(record: o.DeviceAsk, out: dict[str, Any]) -> None:
            if record.allocation_mode == o.EXACT_COUNT or record.count != 1:
                out["count"] = record.count

        return write


_ASK = FieldTable(
    o.DeviceAsk,
    text("deviceClassName"),
    text("name"),
    _SELECTORS,
    word("allocationMode", always=True),
    _Count(),
    flag("adminAccess"),
    each("tolerations", TOLERATION),
    own(
        "capacity",
        lambda f, key: f.inside(key).resources("requests") if f.has(key) else None,
        lambda amounts: {"requests": _plain_amounts(amounts)},
        role="amounts",
    ),
    written="name",
)
_REQUEST = FieldTable(o.DeviceRequest, text("name"), child("exactly", _ASK), each("firstAvailable", _ASK))
_ASKED = [key for key in _ASK.keys if key != "name"]


def _read_requests(fields: Fields, key: str) -> tuple[o.DeviceRequest, ...]:
    return tuple(map(_read_request, fields.children(key)))


def _read_request(request: Fields) -> o.DeviceRequest:
    read = _REQUEST.read(request)
    if request.api_version == FLAT_VERSION:
        return _read_flat_request(request, read)
    if read.exactly is None and not request.has("firstAvailable"):
        request.fault("", f"needs exactly or firstAvailable, as in {NEWEST_VERSION}")
    return read


def _read_flat_request(request: Fields, read: o.DeviceRequest) -> o.DeviceRequest:
    """As the server reads it. Upstream: Convert_v1beta1_DeviceRequest_To_resource_DeviceRequest."""
    if request.has("exactly"):
        request.fault(".exactly", f"unknown field; in {FLAT_VERSION} what is in it stands in the request itself")
    elif any(request.has(key) for key in _ASKED):
        return msgspec.structs.replace(read, exactly=msgspec.structs.replace(_ASK.read(request), name=""))
    elif not request.has("firstAvailable"):
        request.fault("", f"needs deviceClassName or firstAvailable, as in {FLAT_VERSION}")
    return read


_CONSTRAINT = FieldTable(o.DeviceConstraint, texts("requests"), word("matchAttribute"), word("distinctAttribute"))
_CLAIM_SPEC = FieldTable(
    o.ClaimSpec,
    at(
        "devices",
        own("requests", _read_requests, lambda asked: list(map(_REQUEST.write, asked)), tables=(_REQUEST,)),
        each("constraints", _CONSTRAINT),
        each("config", _CONFIG),
    ),
)
_ALLOCATED = FieldTable(
    o.AllocatedDevice,
    text("request"),
    word("driver"),
    text("pool"),
    text("device"),
    flag("adminAccess"),
    words("bindingConditions"),
    words("bindingFailureConditions"),
    text("shareID"),
    own("consumedCapacity", Fields.resources, _plain_amounts, role="amounts"),
    each("tolerations", TOLERATION),
)
_ALLOCATION = FieldTable(
    o.Allocation,
    at("devices", each("results", _ALLOCATED, "devices"), each("config", _CONFIG)),
    node_selector("nodeSelector"),
    word("allocationTimestamp", "timestamp"),
)
_CONSUMER = FieldTable(
    o.ConsumerReference, word("resource"), text("name"), text("uid"), word("apiGroup"), written="apiGroup"
)


def _read_device_status(entry: Fields) -> o.DeviceStatus:
    given = list(entry.children("conditions"))
    conditions = tuple((c.text("type"), c.text("status")) for c in given)
    details = tuple((c.text("reason"), c.text("message")) for c in given)
    named = entry.text("driver"), entry.text("pool"), entry.text("device")
    return o.DeviceStatus(*named, conditions, details if any(map(any, details)) else ())


def _write_device_status(entry: o.DeviceStatus) -> dict[str, Any]:
    details = entry.details or (("", ""),) * len(entry.conditions)
    conditions = [
        present({"type": kind, "status": status, "reason": reason or None, "message": message or None})
        for (kind, status), (reason, message) in zip(entry.conditions, details, strict=True)
    ]
    named = {"driver": entry.driver, "pool": entry.pool, "device": entry.device}
    return {**named, "conditions": conditions} if conditions else named


RESOURCE_CLAIM = FieldTable(
    o.ResourceClaim,
    META,
    at("spec", inline("spec", _CLAIM_SPEC)),
    at(
        "status",
        child("allocation", _ALLOCATION),
        each("reservedFor", _CONSUMER),
        own(
            "devices",
            lambda fields, key: tuple(map(_read_device_status, fields.children(key))),
            lambda statuses: list(map(_write_device_status, statuses)),
            name="device_statuses",
        ),
    ),
    Inline("resource_version", lambda claim: claim.inside("metadata").text("resourceVersion"), lambda _: {}),
)
RESOURCE_CLAIM_TEMPLATE = FieldTable(o.ResourceClaimTemplate, META, at("spec", at("spec", inline("spec", _CLAIM_SPEC))))


def _read_gang(fields: Fields, key: str) -> int | None:
    gang = fields.child(key)
    return None if gang is None else gang.integer("minCount")


_GANG = own("gang", _read_gang, lambda least: {"minCount": least}, "min_count")
POD_GROUP = FieldTable(o.PodGroup, META, at("spec", at("schedulingPolicy", _GANG)))

# --- the kinds -------------------------------------------------------------------------------


class ManifestKind(msgspec.Struct, frozen=True):
    """``groups`` are the API groups that have had the kind; the first is where it lives today."""

    table: FieldTable[Any]
    groups: tuple[str, ...]
    version: str = "v1"
    namespaced: bool = True

    @property
    def name(self) -> str:
        """As manifests say it: records are named as their kinds."""
        return self.table.record.__name__

    @property
    def api_version(self) -> str:
        """Today's apiVersion."""
        return f"{self.groups[0]}/{self.version}" if self.groups[0] else self.version

    def in_group(self, api_version: str) -> bool:
        """Whether an apiVersion, any version of it, can hold this kind; an absent one can."""
        return not api_version or (api_version.rpartition("/")[0] in self.groups)


_CORE = ("",)
_STORAGE = ("storage.k8s.io",)
_RESOURCE = ("resource.k8s.io",)

KINDS: dict[str, ManifestKind] = {
    kind.name: kind
    for kind in (
        ManifestKind(POD, _CORE),
        ManifestKind(NODE, _CORE, namespaced=False),
        ManifestKind(SERVICE, _CORE),
        ManifestKind(REPLICATION_CONTROLLER, _CORE),
        ManifestKind(FieldTable(o.ReplicaSet, META, _SET_SPEC), ("apps", "extensions")),
        ManifestKind(FieldTable(o.StatefulSet, META, _SET_SPEC), ("apps",)),
        ManifestKind(PERSISTENT_VOLUME, _CORE, namespaced=False),
        ManifestKind(PERSISTENT_VOLUME_CLAIM, _CORE),
        ManifestKind(STORAGE_CLASS, _STORAGE, namespaced=False),
        ManifestKind(CSI_NODE, _STORAGE, namespaced=False),
        ManifestKind(CSI_DRIVER, _STORAGE, namespaced=False),
        ManifestKind(CSI_STORAGE_CAPACITY, _STORAGE),
        ManifestKind(VOLUME_ATTACHMENT, _STORAGE, namespaced=False),
        ManifestKind(PRIORITY_CLASS, ("scheduling.k8s.io",), namespaced=False),
        ManifestKind(RUNTIME_CLASS, ("node.k8s.io",), namespaced=False),
        ManifestKind(LIMIT_RANGE, _CORE),
        ManifestKind(POD_DISRUPTION_BUDGET, ("policy",)),
        ManifestKind(FieldTable(o.Namespace, META), _CORE, namespaced=False),
        ManifestKind(RESOURCE_CLAIM, _RESOURCE),
        ManifestKind(RESOURCE_CLAIM_TEMPLATE, _RESOURCE),
        ManifestKind(RESOURCE_SLICE, _RESOURCE, namespaced=False),
        ManifestKind(DEVICE_CLASS, _RESOURCE, namespaced=False),
        ManifestKind(POD_GROUP, ("scheduling.k8s.io",), version="v1alpha2"),
    )
}
"""API kind → how it is read and written."""


def encode_object(obj: o.ClusterObject) -> dict[str, Any]:
    """The manifest of an object, with the fields that scheduling reads; ``obj.manifest`` is not looked at."""
    kind = KINDS[type(obj).__name__]
    return {"apiVersion": kind.api_version, "kind": kind.name, **kind.table.write(obj)}
