"""The fields that the API has, in all its versions, and what a manifest has that is none of them.

The tables at the end have a type a paragraph: its name, a colon, and its fields. ``field`` holds a value that is not
looked into, ``field:Type`` an object of a type or a list of such objects, ``field:{}Type`` objects by name, and
``field=A|B`` one of these values, or a list of them. A type has the fields of all versions of the API, so that a
manifest of any age passes.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from clusterstate.errors import nearest
from clusterstate.manifests.fields import Accepted, describe, step

TYPE_META = ("apiVersion", "kind")
"""Fields of every kind."""
_ALL = Accepted()


class KnownField(msgspec.Struct, frozen=True):
    """What a field may hold."""

    type: str = ""
    """The type of the object, or of the objects, in it; empty when that is not looked into."""
    by_name: bool = False
    """Whether it holds objects by names of the user's choice."""
    values: tuple[str, ...] = ()
    """The texts it may hold besides an empty one; none when any may be."""


@cache
def known_types() -> Mapping[str, Mapping[str, KnownField]]:
    """Type → its fields. A kind is a type of its own name."""
    types: dict[str, dict[str, KnownField]] = {}
    fields: dict[str, KnownField] = {}
    for word in f"{PODS} {VOLUMES} {CLUSTER} {DEVICES}".split():
        if word.endswith(":"):
            fields = types.setdefault(word[:-1], {})
        else:
            name, known = _field(word)
            fields[name] = known
    return types


def _field(word: str) -> tuple[str, KnownField]:
    name, _, values = word.partition("=")
    if values:
        return name, KnownField(values=tuple(values.split("|")))
    name, _, kind = word.partition(":")
    return name, KnownField(kind.removeprefix("{}"), by_name=kind.startswith("{}"))


def unknown_fields(kind: str, manifest: Mapping[Any, Any], accepted: Accepted = _ALL) -> list[str]:
    """``path: what is wrong`` for each field that the kind does not have, and for each value no API server takes.

    accepted: where the API server of a release takes less. Nothing for a kind that is in no table. What is of a wrong
    type altogether is not looked into.
    """
    if kind not in known_types():
        return []
    given = {key: value for key, value in manifest.items() if key not in TYPE_META}
    return list(_in_object(given, kind, "", accepted))


def _in_object(given: Mapping[Any, Any], kind: str, path: str, accepted: Accepted) -> Iterator[str]:
    fields = known_types()[kind]
    for key, value in given.items():
        place = f"{path}{step(key)}".lstrip(".")
        known = fields.get(key) if isinstance(key, str) else None
        if known is None:
            yield f"{place}: unknown field{_meant(str(key), fields)}"
        elif known.values:
            yield from _in_values(value, known.values, place, accepted.values.get((kind, key)))
        elif known.type:
            for item, where in objects_in(value, known, place):
                yield from _in_object(item, known.type, where, accepted)


def _meant(key: str, fields: Mapping[str, KnownField]) -> str:
    """A field of an object one level down that has the very name comes before one whose name is merely like it, but for
    one that lacks an s."""
    types = known_types()
    inside = [
        f"{name}.{key}" for name, known in fields.items() if not known.by_name and key in types.get(known.type, ())
    ]
    return (
        nearest(key, fields)
        if not inside or not {key.lower(), f"{key.lower()}s"}.isdisjoint(map(str.lower, fields))
        else f"; did you mean {inside[0]}?"
    )


def objects_in(value: object, known: KnownField, place: str) -> Iterator[tuple[Mapping[Any, Any], str]]:
    """(object, where it is) for each object that is in a field. place: of the field."""
    found: Iterable[tuple[object, str]] = ((value, place),)
    if isinstance(value, list | tuple):
        found = ((item, f"{place}[{index}]") for index, item in enumerate(value))
    elif isinstance(value, Mapping) and known.by_name:
        found = ((item, f"{place}{step(name)}") for name, item in value.items())
    return ((item, where) for item, where in found if isinstance(item, Mapping))


def _in_values(
    value: object, values: tuple[str, ...], place: str, accepted: tuple[tuple[str, ...], str] | None
) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _in_values(item, values, f"{place}[{index}]", accepted)
        return
    taken, why = accepted or (values, "")
    if not isinstance(value, str) or not value or value in taken:
        return
    hint = f" ({why})" if value in values else nearest(value, taken)
    yield f"{place}: {describe(value)} is not one of {', '.join(taken)}{hint}"


def has_only_known(kind: str, content: msgspec.Raw) -> bool:
    """True: the JSON has nothing that ``unknown_fields`` would name. False: it has to be looked at.

    That also goes for values of a wrong type, for kinds that are in no table, and for fields of a type within itself.
    """
    decoder = _decoder(kind)
    if decoder is None:
        return False
    try:
        decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Any] | None:
    return msgspec.json.Decoder(_shape(kind, ())) if kind in known_types() else None


@cache
def _shape(name: str, within: tuple[str, ...]) -> Any:
    """The type of an object; ``within`` are the types that it stands in, which it does not hold again."""
    fields = dict(known_types()[name])
    fields |= dict.fromkeys(() if within else TYPE_META, KnownField())
    inside = (*within, name)
    typed = [(f"f{at}", _type(known, inside)) for at, known in enumerate(fields.values())]
    return msgspec.defstruct(
        name,
        [(key, each, msgspec.field(default=None)) for key, each in typed],
        rename={f"f{at}": field for at, field in enumerate(fields)},
        forbid_unknown_fields=True,
        gc=False,
    )


def _type(known: KnownField, within: tuple[str, ...]) -> Any:
    if known.values:
        one: Any = Literal[("", *known.values)]
        return one | list[one] | None
    if not known.type:
        return msgspec.Raw
    if known.type in within:
        return None
    shape: Any = _shape(known.type, within)
    objects = types.GenericAlias(dict, (str, shape)) if known.by_name else shape
    return objects | types.GenericAlias(list, (shape,)) | None


PODS = """
Pod: metadata:ObjectMeta spec:PodSpec status:PodStatus
ObjectMeta: annotations clusterName creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers
  generateName generation initializers labels managedFields name namespace ownerReferences:OwnerReference
  resourceVersion selfLink uid
OwnerReference: apiVersion blockOwnerDeletion controller kind name uid
PodSpec: activeDeadlineSeconds affinity:Affinity automountServiceAccountToken containers:Container
  dnsConfig:PodDNSConfig dnsPolicy=ClusterFirstWithHostNet|ClusterFirst|Default|None enableServiceLinks
  ephemeralContainers:EphemeralContainer hostAliases:HostAlias hostIPC hostNetwork hostPID hostUsers hostname
  hostnameOverride imagePullSecrets:LocalObjectReference initContainers:Container nodeName nodeSelector os:PodOS
  overhead preemptionPolicy=Never|PreemptLowerPriority priority priorityClassName readinessGates:PodReadinessGate
  resourceClaims:PodResourceClaim resources:ResourceRequirements restartPolicy=Always|OnFailure|Never runtimeClassName
  schedulerName schedulingGates:PodSchedulingGate schedulingGroup:PodSchedulingGroup
  securityContext:PodSecurityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace
  subdomain terminationGracePeriodSeconds tolerations:Toleration topologySpreadConstraints:TopologySpreadConstraint
  volumes:Volume workloadRef:WorkloadReference
Affinity: nodeAffinity:NodeAffinity podAffinity:PodAffinity podAntiAffinity:PodAntiAffinity
NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution:PreferredSchedulingTerm
  requiredDuringSchedulingIgnoredDuringExecution:NodeSelector
PreferredSchedulingTerm: preference:NodeSelectorTerm weight
NodeSelectorTerm: matchExpressions:NodeSelectorRequirement matchFields:NodeSelectorRequirement
NodeSelectorRequirement: key operator=In|NotIn|Exists|DoesNotExist|Gt|Lt values
NodeSelector: nodeSelectorTerms:NodeSelectorTerm
PodAffinity: preferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm
WeightedPodAffinityTerm: podAffinityTerm:PodAffinityTerm weight
PodAffinityTerm: labelSelector:LabelSelector matchLabelKeys mismatchLabelKeys namespaceSelector:LabelSelector
  namespaces topologyKey
LabelSelector: matchExpressions:LabelSelectorRequirement matchLabels
LabelSelectorRequirement: key operator=In|NotIn|Exists|DoesNotExist values
PodAntiAffinity: preferredDuringSchedulingIgnoredDuringExecution:WeightedPodAffinityTerm
  requiredDuringSchedulingIgnoredDuringExecution:PodAffinityTerm
Container: args command env:EnvVar envFrom:EnvFromSource image imagePullPolicy=Always|Never|IfNotPresent
  lifecycle:Lifecycle livenessProbe:Probe name ports:ContainerPort readinessProbe:Probe
  resizePolicy:ContainerResizePolicy resources:ResourceRequirements restartPolicy=Always|OnFailure|Never
  restartPolicyRules:ContainerRestartRule securityContext:SecurityContext startupProbe:Probe stdin stdinOnce
  terminationMessagePath terminationMessagePolicy=File|FallbackToLogsOnError tty volumeDevices:VolumeDevice
  volumeMounts:VolumeMount workingDir
EnvVar: name value valueFrom:EnvVarSource
EnvVarSource: configMapKeyRef:ConfigMapKeySelector fieldRef:ObjectFieldSelector fileKeyRef:FileKeySelector
  resourceFieldRef:ResourceFieldSelector secretKeyRef:SecretKeySelector
ConfigMapKeySelector: key name optional
ObjectFieldSelector: apiVersion fieldPath
FileKeySelector: key optional path volumeName
ResourceFieldSelector: containerName divisor resource
SecretKeySelector: key name optional
EnvFromSource: configMapRef:ConfigMapEnvSource prefix secretRef:SecretEnvSource
ConfigMapEnvSource: name optional
SecretEnvSource: name optional
Lifecycle: postStart:LifecycleHandler preStop:LifecycleHandler stopSignal
LifecycleHandler: exec:ExecAction httpGet:HTTPGetAction sleep:SleepAction tcpSocket:TCPSocketAction
ExecAction: command
HTTPGetAction: host httpHeaders:HTTPHeader path port scheme=HTTP|HTTPS
HTTPHeader: name value
SleepAction: seconds
TCPSocketAction: host port
Probe: exec:ExecAction failureThreshold grpc:GRPCAction httpGet:HTTPGetAction initialDelaySeconds periodSeconds
  successThreshold tcpSocket:TCPSocketAction terminationGracePeriodSeconds timeoutSeconds
GRPCAction: port service
ContainerPort: containerPort hostIP hostPort name protocol=TCP|UDP|SCTP
ContainerResizePolicy: resourceName restartPolicy=NotRequired|RestartContainer
ResourceRequirements: claims:ContainerResourceClaim limits requests
ContainerResourceClaim: name request
ContainerRestartRule: action=Restart|RestartAllContainers exitCodes:ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator=In|NotIn values
SecurityContext: allowPrivilegeEscalation appArmorProfile:AppArmorProfile capabilities:Capabilities privileged
  procMount=Default|Unmasked readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions:SELinuxOptions
  seccompProfile:SeccompProfile windowsOptions:WindowsSecurityContextOptions
AppArmorProfile: localhostProfile type=Localhost|RuntimeDefault|Unconfined
Capabilities: add drop
SELinuxOptions: level role type user
SeccompProfile: localhostProfile type=Localhost|RuntimeDefault|Unconfined
WindowsSecurityContextOptions: gmsaCredentialSpec gmsaCredentialSpecName hostProcess runAsUserName
VolumeDevice: devicePath name
VolumeMount: mountPath mountPropagation=None|HostToContainer|Bidirectional name readOnly
  recursiveReadOnly=Disabled|IfPossible|Enabled subPath subPathExpr
PodDNSConfig: nameservers options:PodDNSConfigOption searches
PodDNSConfigOption: name value
EphemeralContainer: args command env:EnvVar envFrom:EnvFromSource image imagePullPolicy=Always|Never|IfNotPresent
  lifecycle:Lifecycle livenessProbe:Probe name ports:ContainerPort readinessProbe:Probe
  resizePolicy:ContainerResizePolicy resources:ResourceRequirements restartPolicy=Always|OnFailure|Never
  restartPolicyRules:ContainerRestartRule securityContext:SecurityContext startupProbe:Probe stdin stdinOnce
  targetContainerName terminationMessagePath terminationMessagePolicy=File|FallbackToLogsOnError tty
  volumeDevices:VolumeDevice volumeMounts:VolumeMount workingDir
HostAlias: hostnames ip
LocalObjectReference: name
PodOS: name=linux|windows
PodReadinessGate: conditionType
PodResourceClaim: name resourceClaimName resourceClaimTemplateName source:ClaimSource
ClaimSource: resourceClaimName resourceClaimTemplateName
PodSchedulingGate: name
PodSchedulingGroup: podGroupName
PodSecurityContext: appArmorProfile:AppArmorProfile fsGroup fsGroupChangePolicy=OnRootMismatch|Always runAsGroup
  runAsNonRoot runAsUser seLinuxChangePolicy=Recursive|MountOption seLinuxOptions:SELinuxOptions
  seccompProfile:SeccompProfile supplementalGroups supplementalGroupsPolicy=Merge|Strict sysctls:Sysctl
  windowsOptions:WindowsSecurityContextOptions
Sysctl: name value
Toleration: effect=NoSchedule|PreferNoSchedule|NoExecute key operator=Exists|Equal|Lt|Gt tolerationSeconds value
TopologySpreadConstraint: labelSelector:LabelSelector matchLabelKeys maxSkew minDomains
  nodeAffinityPolicy=Honor|Ignore nodeTaintsPolicy=Honor|Ignore topologyKey
  whenUnsatisfiable=DoNotSchedule|ScheduleAnyway
WorkloadReference: name podGroup podGroupReplicaKey
PodStatus: allocatedResources conditions:Condition containerStatuses:ContainerStatus
  ephemeralContainerStatuses:ContainerStatus extendedResourceClaimStatus:PodExtendedResourceClaimStatus hostIP
  hostIPs:HostIP initContainerStatuses:ContainerStatus message
  nodeAllocatableResourceClaimStatuses:NodeAllocatableResourceClaimStatus nominatedNodeName observedGeneration
  phase=Pending|Running|Succeeded|Failed|Unknown podIP podIPs:PodIP qosClass=BestEffort|Burstable|Guaranteed reason
  resize resourceClaimStatuses:PodResourceClaimStatus resources:ResourceRequirements startTime
Condition: lastHeartbeatTime lastProbeTime lastTransitionTime lastUpdateTime message observedGeneration reason
  status=True|False|Unknown type
ContainerStatus: allocatedResources allocatedResourcesStatus:ResourceStatus containerID image imageID
  lastState:ContainerState name ready resources:ResourceRequirements restartCount started state:ContainerState
  stopSignal user:ContainerUser volumeMounts:VolumeMountStatus
ResourceStatus: name resources:ResourceHealth
ResourceHealth: health message resourceID
ContainerState: running:ContainerStateRunning terminated:ContainerStateTerminated waiting:ContainerStateWaiting
ContainerStateRunning: startedAt
ContainerStateTerminated: containerID exitCode finishedAt message reason signal startedAt
ContainerStateWaiting: message reason
ContainerUser: linux:LinuxContainerUser
LinuxContainerUser: gid supplementalGroups uid
VolumeMountStatus: mountPath name readOnly recursiveReadOnly volumeStatus:VolumeStatus
VolumeStatus: image:ImageVolumeStatus
ImageVolumeStatus: imageRef
PodExtendedResourceClaimStatus: requestMappings:ContainerExtendedResourceRequest resourceClaimName
ContainerExtendedResourceRequest: containerName requestName resourceName
HostIP: ip
NodeAllocatableResourceClaimStatus: containers resourceClaimName resources
PodIP: ip
PodResourceClaimStatus: name resourceClaimName
"""


VOLUMES = """
Volume: awsElasticBlockStore:AWSElasticBlockStoreVolumeSource azureDisk:AzureDiskVolumeSource
  azureFile:AzureFileVolumeSource cephfs:CephFSVolumeSource cinder:CinderVolumeSource configMap:ConfigMapVolumeSource
  csi:CSIVolumeSource downwardAPI:DownwardAPIVolumeSource emptyDir:EmptyDirVolumeSource
  ephemeral:EphemeralVolumeSource fc:FCVolumeSource flexVolume:FlexVolumeSource flocker:FlockerVolumeSource
  gcePersistentDisk:GCEPersistentDiskVolumeSource gitRepo:GitRepoVolumeSource glusterfs:GlusterfsVolumeSource
  hostPath:HostPathVolumeSource image:ImageVolumeSource iscsi:ISCSIVolumeSource name nfs:NFSVolumeSource
  persistentVolumeClaim:PersistentVolumeClaimVolumeSource photonPersistentDisk:PhotonPersistentDiskVolumeSource
  portworxVolume:PortworxVolumeSource projected:ProjectedVolumeSource quobyte:QuobyteVolumeSource rbd:RBDVolumeSource
  scaleIO:ScaleIOVolumeSource secret:SecretVolumeSource storageos:StorageOSVolumeSource
  vsphereVolume:VsphereVirtualDiskVolumeSource
AWSElasticBlockStoreVolumeSource: fsType partition readOnly volumeID
AzureDiskVolumeSource: cachingMode=None|ReadOnly|ReadWrite diskName diskURI fsType kind=Shared|Dedicated|Managed
  readOnly
AzureFileVolumeSource: readOnly secretName shareName
CephFSVolumeSource: monitors path readOnly secretFile secretRef:LocalObjectReference user
CinderVolumeSource: fsType readOnly secretRef:LocalObjectReference volumeID
ConfigMapVolumeSource: defaultMode items:KeyToPath name optional
KeyToPath: key mode path
CSIVolumeSource: driver fsType nodePublishSecretRef:LocalObjectReference readOnly volumeAttributes
DownwardAPIVolumeSource: defaultMode items:DownwardAPIVolumeFile
DownwardAPIVolumeFile: fieldRef:ObjectFieldSelector mode path resourceFieldRef:ResourceFieldSelector
EmptyDirVolumeSource: medium sizeLimit
EphemeralVolumeSource: volumeClaimTemplate:PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: metadata:ObjectMeta spec:PersistentVolumeClaimSpec
PersistentVolumeClaimSpec: accessModes=ReadWriteOnce|ReadOnlyMany|ReadWriteMany|ReadWriteOncePod
  dataSource:TypedLocalObjectReference dataSourceRef:TypedObjectReference resources:VolumeResourceRequirements
  selector:LabelSelector storageClassName volumeAttributesClassName volumeMode=Block|Filesystem volumeName
TypedLocalObjectReference: apiGroup kind name
TypedObjectReference: apiGroup kind name namespace
VolumeResourceRequirements: limits requests
FCVolumeSource: fsType lun readOnly targetWWNs wwids
FlexVolumeSource: driver fsType options readOnly secretRef:LocalObjectReference
FlockerVolumeSource: datasetName datasetUUID
GCEPersistentDiskVolumeSource: fsType partition pdName readOnly
GitRepoVolumeSource: directory repository revision
GlusterfsVolumeSource: endpoints path readOnly
HostPathVolumeSource: path type=DirectoryOrCreate|Directory|FileOrCreate|File|Socket|CharDevice|BlockDevice
ImageVolumeSource: pullPolicy=Always|Never|IfNotPresent reference
ISCSIVolumeSource: chapAuthDiscovery chapAuthSession fsType initiatorName iqn iscsiInterface lun portals readOnly
  secretRef:LocalObjectReference targetPortal
NFSVolumeSource: path readOnly server
PersistentVolumeClaimVolumeSource: claimName readOnly
PhotonPersistentDiskVolumeSource: fsType pdID
PortworxVolumeSource: fsType readOnly volumeID
ProjectedVolumeSource: defaultMode sources:VolumeProjection
VolumeProjection: clusterTrustBundle:ClusterTrustBundleProjection configMap:ConfigMapProjection
  downwardAPI:DownwardAPIProjection podCertificate:PodCertificateProjection secret:SecretProjection
  serviceAccountToken:ServiceAccountTokenProjection
ClusterTrustBundleProjection: labelSelector:LabelSelector name optional path signerName
ConfigMapProjection: items:KeyToPath name optional
DownwardAPIProjection: items:DownwardAPIVolumeFile
PodCertificateProjection: certificateChainPath credentialBundlePath keyPath keyType maxExpirationSeconds signerName
  userAnnotations
SecretProjection: items:KeyToPath name optional
ServiceAccountTokenProjection: audience expirationSeconds path
QuobyteVolumeSource: group readOnly registry tenant user volume
RBDVolumeSource: fsType image keyring monitors pool readOnly secretRef:LocalObjectReference user
ScaleIOVolumeSource: fsType gateway protectionDomain readOnly secretRef:LocalObjectReference sslEnabled storageMode
  storagePool system volumeName
SecretVolumeSource: defaultMode items:KeyToPath optional secretName
StorageOSVolumeSource: fsType readOnly secretRef:LocalObjectReference volumeName volumeNamespace
VsphereVirtualDiskVolumeSource: fsType storagePolicyID storagePolicyName volumePath
PersistentVolume: metadata:ObjectMeta spec:PersistentVolumeSpec status:PersistentVolumeStatus
PersistentVolumeSpec: accessModes=ReadWriteOnce|ReadOnlyMany|ReadWriteMany|ReadWriteOncePod
  awsElasticBlockStore:AWSElasticBlockStoreVolumeSource azureDisk:AzureDiskVolumeSource
  azureFile:AzureFilePersistentVolumeSource capacity cephfs:CephFSPersistentVolumeSource
  cinder:CinderPersistentVolumeSource claimRef:ObjectReference csi:CSIPersistentVolumeSource fc:FCVolumeSource
  flexVolume:FlexPersistentVolumeSource flocker:FlockerVolumeSource gcePersistentDisk:GCEPersistentDiskVolumeSource
  glusterfs:GlusterfsPersistentVolumeSource hostPath:HostPathVolumeSource iscsi:ISCSIPersistentVolumeSource
  local:LocalVolumeSource mountOptions nfs:NFSVolumeSource nodeAffinity:VolumeNodeAffinity
  persistentVolumeReclaimPolicy=Retain|Delete|Recycle photonPersistentDisk:PhotonPersistentDiskVolumeSource
  portworxVolume:PortworxVolumeSource quobyte:QuobyteVolumeSource rbd:RBDPersistentVolumeSource
  scaleIO:ScaleIOPersistentVolumeSource storageClassName storageos:StorageOSPersistentVolumeSource
  volumeAttributesClassName volumeMode=Block|Filesystem vsphereVolume:VsphereVirtualDiskVolumeSource
AzureFilePersistentVolumeSource: readOnly secretName secretNamespace shareName
CephFSPersistentVolumeSource: monitors path readOnly secretFile secretRef:SecretReference user
SecretReference: name namespace
CinderPersistentVolumeSource: fsType readOnly secretRef:SecretReference volumeID
ObjectReference: apiVersion fieldPath kind name namespace resourceVersion uid
CSIPersistentVolumeSource: controllerExpandSecretRef:SecretReference controllerPublishSecretRef:SecretReference driver
  fsType nodeExpandSecretRef:SecretReference nodePublishSecretRef:SecretReference nodeStageSecretRef:SecretReference
  readOnly volumeAttributes volumeHandle
FlexPersistentVolumeSource: driver fsType options readOnly secretRef:SecretReference
GlusterfsPersistentVolumeSource: endpoints endpointsNamespace path readOnly
ISCSIPersistentVolumeSource: chapAuthDiscovery chapAuthSession fsType initiatorName iqn iscsiInterface lun portals
  readOnly secretRef:SecretReference targetPortal
LocalVolumeSource: fsType path
VolumeNodeAffinity: required:NodeSelector
RBDPersistentVolumeSource: fsType image keyring monitors pool readOnly secretRef:SecretReference user
ScaleIOPersistentVolumeSource: fsType gateway protectionDomain readOnly secretRef:SecretReference sslEnabled
  storageMode storagePool system volumeName
StorageOSPersistentVolumeSource: fsType readOnly secretRef:ObjectReference volumeName volumeNamespace
PersistentVolumeStatus: lastPhaseTransitionTime message phase reason
PersistentVolumeClaim: metadata:ObjectMeta spec:PersistentVolumeClaimSpec status:PersistentVolumeClaimStatus
PersistentVolumeClaimStatus: accessModes allocatedResourceStatuses allocatedResources capacity conditions:Condition
  currentVolumeAttributesClassName modifyVolumeStatus:ModifyVolumeStatus phase resizeStatus
ModifyVolumeStatus: status targetVolumeAttributesClassName
StorageClass: allowVolumeExpansion allowedTopologies:TopologySelectorTerm metadata:ObjectMeta mountOptions parameters
  provisioner reclaimPolicy=Delete|Retain volumeBindingMode=Immediate|WaitForFirstConsumer
TopologySelectorTerm: matchLabelExpressions:TopologySelectorLabelRequirement
TopologySelectorLabelRequirement: key values
CSINode: metadata:ObjectMeta spec:CSINodeSpec
CSINodeSpec: drivers:CSINodeDriver
CSINodeDriver: allocatable:VolumeNodeResources name nodeID topologyKeys
VolumeNodeResources: count
CSIDriver: metadata:ObjectMeta spec:CSIDriverSpec
CSIDriverSpec: attachRequired fsGroupPolicy=None|File|ReadWriteOnceWithFSType nodeAllocatableUpdatePeriodSeconds
  podInfoOnMount preventPodSchedulingIfMissing requiresRepublish seLinuxMount serviceAccountTokenInSecrets
  storageCapacity tokenRequests:TokenRequest volumeLifecycleModes=Persistent|Ephemeral
TokenRequest: audience expirationSeconds
CSIStorageCapacity: capacity maximumVolumeSize metadata:ObjectMeta nodeTopology:LabelSelector storageClassName
VolumeAttachment: metadata:ObjectMeta spec:VolumeAttachmentSpec status:VolumeAttachmentStatus
VolumeAttachmentSpec: attacher nodeName source:VolumeAttachmentSource
VolumeAttachmentSource: inlineVolumeSpec:PersistentVolumeSpec persistentVolumeName
VolumeAttachmentStatus: attachError:VolumeError attached attachmentMetadata detachError:VolumeError
VolumeError: errorCode message time
"""


CLUSTER = """
Node: metadata:ObjectMeta spec:NodeSpec status:NodeStatus
NodeSpec: configSource:NodeConfigSource externalID podCIDR podCIDRs providerID taints:Taint unschedulable
NodeConfigSource: apiVersion configMap:ConfigMapNodeConfigSource configMapRef:ObjectReference kind
ConfigMapNodeConfigSource: kubeletConfigKey name namespace resourceVersion uid
Taint: effect=NoSchedule|PreferNoSchedule|NoExecute key timeAdded value
NodeStatus: addresses:NodeAddress allocatable capacity conditions:Condition config:NodeConfigStatus
  daemonEndpoints:NodeDaemonEndpoints declaredFeatures features:NodeFeatures images:ContainerImage
  nodeInfo:NodeSystemInfo phase runtimeHandlers:NodeRuntimeHandler volumesAttached:AttachedVolume volumesInUse
NodeAddress: address type
NodeConfigStatus: active:NodeConfigSource assigned:NodeConfigSource error lastKnownGood:NodeConfigSource
NodeDaemonEndpoints: kubeletEndpoint:DaemonEndpoint
DaemonEndpoint: Port
NodeFeatures: supplementalGroupsPolicy
ContainerImage: names sizeBytes
NodeSystemInfo: architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion machineID
  operatingSystem osImage swap:NodeSwapStatus systemUUID
NodeSwapStatus: capacity
NodeRuntimeHandler: features:NodeRuntimeHandlerFeatures name
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts userNamespaces
AttachedVolume: devicePath name
Service: metadata:ObjectMeta spec:ServiceSpec status:ServiceStatus
ServiceSpec: allocateLoadBalancerNodePorts clusterIP clusterIPs deprecatedPublicIPs externalIPs externalName
  externalTrafficPolicy=Cluster|Local healthCheckNodePort internalTrafficPolicy=Cluster|Local ipFamilies=IPv4|IPv6
  ipFamily ipFamilyPolicy=SingleStack|PreferDualStack|RequireDualStack loadBalancerClass loadBalancerIP
  loadBalancerSourceRanges ports:ServicePort publishNotReadyAddresses selector sessionAffinity=None|ClientIP
  sessionAffinityConfig:SessionAffinityConfig topologyKeys trafficDistribution
  type=ClusterIP|NodePort|LoadBalancer|ExternalName
ServicePort: appProtocol name nodePort port protocol=TCP|UDP|SCTP targetPort
SessionAffinityConfig: clientIP:ClientIPConfig
ClientIPConfig: timeoutSeconds
ServiceStatus: conditions:Condition loadBalancer:LoadBalancerStatus
LoadBalancerStatus: ingress:LoadBalancerIngress
LoadBalancerIngress: hostname ip ipMode ports:PortStatus
PortStatus: error port protocol=TCP|UDP|SCTP
Namespace: metadata:ObjectMeta spec:NamespaceSpec status:NamespaceStatus
NamespaceSpec: finalizers
NamespaceStatus: conditions:Condition phase
PriorityClass: description globalDefault metadata:ObjectMeta preemptionPolicy=Never|PreemptLowerPriority value
RuntimeClass: handler metadata:ObjectMeta overhead:Overhead scheduling:Scheduling
Overhead: podFixed
Scheduling: nodeSelector tolerations:Toleration
LimitRange: metadata:ObjectMeta spec:LimitRangeSpec
LimitRangeSpec: limits:LimitRangeItem
LimitRangeItem: default defaultRequest max maxLimitRequestRatio min type
PodDisruptionBudget: metadata:ObjectMeta spec:PodDisruptionBudgetSpec status:PodDisruptionBudgetStatus
PodDisruptionBudgetSpec: maxUnavailable minAvailable selector:LabelSelector
  unhealthyPodEvictionPolicy=IfHealthyBudget|AlwaysAllow
PodDisruptionBudgetStatus: conditions:Condition currentHealthy desiredHealthy disruptedPods disruptionsAllowed
  expectedPods observedGeneration
ReplicationController: metadata:ObjectMeta spec:ReplicationControllerSpec status:ReplicationControllerStatus
ReplicationControllerSpec: minReadySeconds replicas selector template:PodTemplateSpec
PodTemplateSpec: metadata:ObjectMeta spec:PodSpec
ReplicationControllerStatus: availableReplicas conditions:Condition fullyLabeledReplicas observedGeneration
  readyReplicas replicas
ReplicaSet: metadata:ObjectMeta spec:ReplicaSetSpec status:ReplicaSetStatus
ReplicaSetSpec: minReadySeconds replicas selector:LabelSelector template:PodTemplateSpec
ReplicaSetStatus: availableReplicas conditions:Condition fullyLabeledReplicas observedGeneration readyReplicas
  replicas terminatingReplicas
StatefulSet: metadata:ObjectMeta spec:StatefulSetSpec status:StatefulSetStatus
StatefulSetSpec: minReadySeconds ordinals:StatefulSetOrdinals
  persistentVolumeClaimRetentionPolicy:StatefulSetPersistentVolumeClaimRetentionPolicy
  podManagementPolicy=OrderedReady|Parallel replicas revisionHistoryLimit selector:LabelSelector serviceName
  template:PodTemplateSpec updateStrategy:StatefulSetUpdateStrategy volumeClaimTemplates:PersistentVolumeClaim
StatefulSetOrdinals: start
StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted=Retain|Delete whenScaled=Retain|Delete
StatefulSetUpdateStrategy: rollingUpdate:RollingUpdateStatefulSetStrategy type=RollingUpdate|OnDelete
RollingUpdateStatefulSetStrategy: maxUnavailable partition
StatefulSetStatus: availableReplicas collisionCount conditions:Condition currentReplicas currentRevision
  observedGeneration readyReplicas replicas updateRevision updatedReplicas
Deployment: metadata:ObjectMeta spec:DeploymentSpec status:DeploymentStatus
DeploymentSpec: minReadySeconds paused progressDeadlineSeconds replicas revisionHistoryLimit rollbackTo:RollbackConfig
  selector:LabelSelector strategy:DeploymentStrategy template:PodTemplateSpec
RollbackConfig: revision
DeploymentStrategy: rollingUpdate:RollingUpdateDeployment type=Recreate|RollingUpdate
RollingUpdateDeployment: maxSurge maxUnavailable
DeploymentStatus: availableReplicas collisionCount conditions:Condition observedGeneration readyReplicas replicas
  terminatingReplicas unavailableReplicas updatedReplicas
DaemonSet: metadata:ObjectMeta spec:DaemonSetSpec status:DaemonSetStatus
DaemonSetSpec: minReadySeconds revisionHistoryLimit selector:LabelSelector template:PodTemplateSpec templateGeneration
  updateStrategy:DaemonSetUpdateStrategy
DaemonSetUpdateStrategy: rollingUpdate:RollingUpdateDaemonSet type=RollingUpdate|OnDelete
RollingUpdateDaemonSet: maxSurge maxUnavailable
DaemonSetStatus: collisionCount conditions:Condition currentNumberScheduled desiredNumberScheduled numberAvailable
  numberMisscheduled numberReady numberUnavailable observedGeneration updatedNumberScheduled
Job: metadata:ObjectMeta spec:JobSpec status:JobStatus
JobSpec: activeDeadlineSeconds autoSelector backoffLimit backoffLimitPerIndex completionMode=NonIndexed|Indexed
  completions managedBy manualSelector maxFailedIndexes parallelism podFailurePolicy:PodFailurePolicy
  podReplacementPolicy=TerminatingOrFailed|Failed selector:LabelSelector successPolicy:SuccessPolicy suspend
  template:PodTemplateSpec ttlSecondsAfterFinished
PodFailurePolicy: rules:PodFailurePolicyRule
PodFailurePolicyRule: action=FailJob|FailIndex|Ignore|Count onExitCodes:PodFailurePolicyOnExitCodesRequirement
  onPodConditions:PodFailurePolicyOnPodConditionsPattern
PodFailurePolicyOnExitCodesRequirement: containerName operator=In|NotIn values
PodFailurePolicyOnPodConditionsPattern: status type
SuccessPolicy: rules:SuccessPolicyRule
SuccessPolicyRule: succeededCount succeededIndexes
JobStatus: active completedIndexes completionTime conditions:Condition failed failedIndexes ready startTime succeeded
  terminating uncountedTerminatedPods:UncountedTerminatedPods
UncountedTerminatedPods: failed succeeded
CronJob: metadata:ObjectMeta spec:CronJobSpec status:CronJobStatus
CronJobSpec: concurrencyPolicy=Allow|Forbid|Replace failedJobsHistoryLimit jobTemplate:JobTemplateSpec schedule
  startingDeadlineSeconds successfulJobsHistoryLimit suspend timeZone
JobTemplateSpec: metadata:ObjectMeta spec:JobSpec
CronJobStatus: active:ObjectReference lastScheduleTime lastSuccessfulTime
"""


DEVICES = """
ResourceClaim: metadata:ObjectMeta spec:ResourceClaimSpec status:ResourceClaimStatus
ResourceClaimSpec: allocationMode controller devices:DeviceClaim parametersRef resourceClassName
DeviceClaim: config:DeviceClaimConfiguration constraints:DeviceConstraint requests:DeviceRequest
DeviceClaimConfiguration: opaque:OpaqueDeviceConfiguration requests
OpaqueDeviceConfiguration: driver parameters
DeviceConstraint: distinctAttribute matchAttribute requests
DeviceRequest: adminAccess allocationMode=ExactCount|All capacity:CapacityRequirements count deviceClassName
  exactly:ExactDeviceRequest firstAvailable:DeviceSubRequest name selectors:DeviceSelector
  tolerations:DeviceToleration
CapacityRequirements: requests
ExactDeviceRequest: adminAccess allocationMode=ExactCount|All capacity:CapacityRequirements count deviceClassName
  selectors:DeviceSelector tolerations:DeviceToleration
DeviceSelector: cel:CELDeviceSelector
CELDeviceSelector: expression
DeviceToleration: effect=NoSchedule|NoExecute key operator=Exists|Equal tolerationSeconds value
DeviceSubRequest: allocationMode=ExactCount|All capacity:CapacityRequirements count deviceClassName name
  selectors:DeviceSelector tolerations:DeviceToleration
ResourceClaimStatus: allocation:AllocationResult deallocationRequested devices:AllocatedDeviceStatus driverName
  reservedFor:ResourceClaimConsumerReference
AllocationResult: allocationTimestamp availableOnNodes:NodeSelector controller devices:DeviceAllocationResult
  nodeSelector:NodeSelector resourceHandles:ResourceHandle shareable
DeviceAllocationResult: config:DeviceAllocationConfiguration results:DeviceRequestAllocationResult
DeviceAllocationConfiguration: opaque:OpaqueDeviceConfiguration requests source
DeviceRequestAllocationResult: adminAccess bindingConditions bindingFailureConditions consumedCapacity device driver
  pool request shareID tolerations:DeviceToleration
ResourceHandle: data driverName structuredData
AllocatedDeviceStatus: conditions:Condition data device driver networkData:NetworkDeviceData pool shareID
NetworkDeviceData: hardwareAddress interfaceName ips
ResourceClaimConsumerReference: apiGroup name resource uid
ResourceClaimTemplate: metadata:ObjectMeta spec:ResourceClaimTemplateSpec
ResourceClaimTemplateSpec: metadata:ObjectMeta spec:ResourceClaimSpec
ResourceSlice: driverName metadata:ObjectMeta namedResources nodeName spec:ResourceSliceSpec
ResourceSliceSpec: allNodes devices:Device driver nodeName nodeSelector:NodeSelector perDeviceNodeSelection
  pool:ResourcePool sharedCounters:CounterSet
Device: allNodes allowMultipleAllocations attributes:{}DeviceAttribute basic:BasicDevice bindingConditions
  bindingFailureConditions bindsToNode capacity:{}DeviceCapacity consumesCounters:DeviceCounterConsumption name
  nodeAllocatableResourceMappings:{}NodeAllocatableResourceMapping nodeName nodeSelector:NodeSelector
  taints:DeviceTaint
DeviceAttribute: bool bools int ints string strings version versions
BasicDevice: allNodes allowMultipleAllocations attributes:{}DeviceAttribute bindingConditions bindingFailureConditions
  bindsToNode capacity:{}DeviceCapacity consumesCounters:DeviceCounterConsumption
  nodeAllocatableResourceMappings:{}NodeAllocatableResourceMapping nodeName nodeSelector:NodeSelector
  taints:DeviceTaint
DeviceCapacity: requestPolicy:CapacityRequestPolicy value
CapacityRequestPolicy: default validRange:CapacityRequestPolicyRange validValues
CapacityRequestPolicyRange: max min step
DeviceCounterConsumption: counterSet counters:{}Counter
Counter: value
NodeAllocatableResourceMapping: allocationMultiplier capacityKey
DeviceTaint: effect=NoSchedule|NoExecute|None key timeAdded value
ResourcePool: generation name resourceSliceCount
CounterSet: counters:{}Counter name
DeviceClass: metadata:ObjectMeta spec:DeviceClassSpec
DeviceClassSpec: config:DeviceClassConfiguration extendedResourceName selectors:DeviceSelector
  suitableNodes:NodeSelector
DeviceClassConfiguration: opaque:OpaqueDeviceConfiguration
PodGroup: metadata:ObjectMeta spec:PodGroupSpec status:PodGroupStatus
PodGroupSpec: disruptionMode podGroupTemplateRef:PodGroupTemplateReference priority priorityClassName
  resourceClaims:PodGroupResourceClaim schedulingConstraints:PodGroupSchedulingConstraints
  schedulingPolicy:PodGroupSchedulingPolicy
PodGroupTemplateReference: workload:WorkloadPodGroupTemplateReference
WorkloadPodGroupTemplateReference: podGroupTemplateName workloadName
PodGroupResourceClaim: name resourceClaimName resourceClaimTemplateName
PodGroupSchedulingConstraints: topology:TopologyConstraint
TopologyConstraint: key
PodGroupSchedulingPolicy: basic gang:GangSchedulingPolicy
GangSchedulingPolicy: minCount
PodGroupStatus: conditions:Condition resourceClaimStatuses:PodGroupResourceClaimStatus
PodGroupResourceClaimStatus: name resourceClaimName
"""
