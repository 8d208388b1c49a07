"""Every feature gate that the process of a release takes though no decision here depends on it: what each was when.

A release's own gates, which decisions depend on, are in its file; while they are there, they are not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kubescheduler.config.gates import ALPHA, BETA, BETA_OFF, DEPRECATED, GA, LOCKED, Gate

_STATES: dict[str, Gate | None] = {
    "a": ALPHA,
    "A": Gate(default=True, stage="alpha"),
    "b": BETA_OFF,
    "B": BETA,
    "G": GA,
    "L": LOCKED,
    "l": Gate(default=False, stage="GA", locked=True),
    "d": DEPRECATED,
    "D": Gate(default=True, stage="deprecated"),
    "z": Gate(default=False, stage="deprecated", locked=True),
    "Z": Gate(default=True, stage="deprecated", locked=True),
    "-": None,
}
"""Letter → gate: small ones are off by default, capitals on; None where it is not there."""

_HISTORY = """
APIListChunking 13B 29L 33-; APIPriorityAndFairness 18a 20B 29L 31-; APIResponseCompression 13a 16B;
APISelfSubjectReview 26a 27B 28L 30-; APIServerIdentity 20a 26B; APIServerTracing 22a 27B 34L; APIServingWithRoutine
30B 31a; AdmissionWebhookMatchConditions 27a 28B 30L 33-; AdvancedAuditing 13G 27L 28-; AggregatedDiscoveryEndpoint
26a 27B 30L 33-; AggregatedDiscoveryRemoveBetaType 33D 35Z; AllowDNSOnlyNodeCSR 31d; AllowInsecureBackendProxy 18B
21L 23-; AllowInsecureKubeletCertificateSigningRequests 31d; AllowOverwriteTerminationGracePeriodSeconds 32d 35z;
AllowParsingUserUIDFromCertAuth 33B; AllowServiceExternalIPs 36G; AllowServiceLBStatusOnNonLB 29d 32z 35-;
AllowUnsafeMalformedObjectDeletion 32a; AnonymousAuthConfigurableEndpoints 31a 32B 34L; AnyVolumeDataSource 18a 24B
33L; AppArmor 13B 31L 33-; AppArmorFields 30B 31L 33-; AtomicFIFO 36B; AttachVolumeLimit 18L 21-;
AuthorizeNodeWithSelectors 31a 32B 34L; AuthorizePodWebsocketUpgradeCreatePermission 35B; AuthorizeWithSelectors 31a
32B 34L; BlockVolume 18L 21-; BoundServiceAccountTokenVolume 13a 21B 22L 23-; BtreeWatchCache 32B 33L;
CBORServingAndStorage 32a; CPUManager 13B 26L 33-; CPUManagerPolicyAlphaOptions 23a; CPUManagerPolicyBetaOptions
23B; CPUManagerPolicyOptions 22a 23B 33L; CRDObservedGenerationTracking 35b 36B; CRDValidationRatcheting 28a 30B
33L; CRIContainerLogRotation 13B 21L 22-; CRIListStreaming 36a; CSIBlockVolume 13a 15B 18L 21-; CSIDriverRegistry
13a 15B 18L 21-; CSIInlineVolume 15a 16B 25L 27-; CSIMigration 13a 16- 25L 27-; CSIMigrationAWS 13a 16-;
CSIMigrationAWSComplete 18a 21-; CSIMigrationAzureDisk 13a 16-; CSIMigrationAzureDiskComplete 18a 21-;
CSIMigrationAzureFile 13a 21b 24B 26L 30-; CSIMigrationAzureFileComplete 18a 21-; CSIMigrationGCE 13a 16-;
CSIMigrationGCEComplete 18a 21-; CSIMigrationOpenStack 13a 16- 25L 26-; CSIMigrationOpenStackComplete 18a 21-;
CSIMigrationvSphere 18a 19b 25B 26L 29-; CSIMigrationvSphereComplete 19b 22-; CSINodeExpandSecret 25a 27B 29L 31-;
CSIPersistentVolume 13L 18-; CSIServiceAccountToken 20a 21B 22L 25-; CSIServiceAccountTokenSecrets 35B 36L;
CSIStorageCapacity 24L 28-; CSIVolumeFSGroupPolicy 19a 20B 23L 25-; CSIVolumeHealth 21a; CSRDuration 22B 24L 26-;
ChangeContainerStatusOnKubeletRestart 35d; ClearingNominatedNodeNameAfterBinding 34a 35B; ClientsAllowCARotation
36B; ClientsAllowCBOR 32a; ClientsAllowTLSCacheGC 36B; ClientsPreferCBOR 32a;
CloudControllerManagerWatchBasedRoutesReconciliation 35a; CloudControllerManagerWebhook 27a; CloudDualStackNodeIPs
27a 29B 30L 32-; ClusterTrustBundle 27a 33b; ClusterTrustBundleProjection 29a 33b; ComponentFlagz 32a 36B;
ComponentSLIs 26a 27B 32L 35-; ComponentStatusz 32a 36B; ConcurrentWatchObjectDecode 31b; ConfigurableFSGroupPolicy
18a 20B 23L 25-; ConsistentHTTPGetHandlers 27G 30L 31-; ConsistentListFromCache 28a 31B 34L;
ConstrainedImpersonation 35a 36B; ContainerCheckpoint 25a 30B; ContainerStopSignals
33a; ContextualLogging 24a 30B; ControllerManagerLeaderMigration 21a 22B 24L 27-; CoordinatedLeaderElection 31a 33b;
CronJobControllerV2 20a 21B 22L 23-; CronJobTimeZone 24a 25B 27L 29-; CronJobsScheduledAnnotation 28B 32L 35-;
CrossNamespaceVolumeDataSource 26a; CustomCPUCFSQuotaPeriod 13a 36G; CustomPodDNS 13B 15L 18-;
CustomResourceDefaulting 15a 16B 18-; CustomResourceFieldSelectors 30a 31B 32L; CustomResourcePublishOpenAPI 15B 16L
18-; CustomResourceSubresources 13B 16L 18-; CustomResourceValidation 13B 16L 18-;
CustomResourceValidationExpressions 23a 25B 29L 31-; CustomResourceWebhookConversion 13a 15B 16L 18-;
DRAResourceClaimDeviceStatus 32a 33B 34-; DRAResourceClaimGranularStatusAuthorization 36B; DRAResourcePoolStatus
36a; DaemonSetUpdateSurge 21a 22B 25L 27-; DeclarativeValidation 33B 36L; DeclarativeValidationBeta 36B;
DeclarativeValidationTakeover 33b 36d; DefaultHostNetworkHostPortsInPodTemplates 28d 31-; DefaultPodTopologySpread
24L 26-; DelegateFSGroupToCSIDriver 22a 23B 26L 28-; DeploymentReplicaSetTerminatingReplicas 33a 35B;
DetectCacheInconsistency 34B; DevicePluginCDIDevices 28a 29B 31L 34-; DevicePlugins 13B 26L 28-;
DisableAcceleratorUsageMetrics 19a 20B 25L 28-; DisableAllocatorDualWrite 31a 33b 34G 35L;
DisableCPUQuotaWithExclusiveCPUs 33B 36D; DisableCloudProviders 22a 29B 31L 33-;
DisableKubeletCloudCredentialProviders 23a 29B 31L 33-; DisableNodeKubeProxyVersion 29a 31d 33D 36Z;
DownwardAPIHugePages 20a 21b 22B 27L 29-; DryRun 13B 19G 26L 28-; DynamicAuditing 13a 19-; DynamicKubeletConfig 13B
22d 26-; EfficientWatchResumption 20a 21B 24L 33-; ElasticIndexedJob 27B 31L 34-; EnableAggregatedDiscoveryTimeout
16D 18-; EndpointSlice 16a 18B 21L 25-; EndpointSliceNodeName 20a 21L 25-; EndpointSliceProxying 18a 19B 22L 25-;
EndpointSliceTerminatingCondition 20a 22B 26L 28-; EnvFiles 34a 35B; EphemeralContainers 16a 23B 25L 27-;
EventedPLEG 26a 27b 29a; ExecProbeTimeout 20G 35L; ExpandCSIVolumes 15a 16B 24G 27-; ExpandInUsePersistentVolumes
13a 15B 24G 27-; ExpandPersistentVolumes 13B 24G 27-; ExpandedDNSConfig 22a 26B 28L 30-;
ExperimentalCriticalPodAnnotation 13d 18-; ExperimentalHostUserNamespaceDefaulting 13b 28z 30-;
ExtendWebSocketsToKubelet 36B; ExternalPolicyForExternalIP 18L 22-; ExternalServiceAccountTokenSigner 32a 34B 36L;
GCERegionalPersistentDisk 13G 18-; GRPCContainerProbe 23a 24B 27L 29-; GenericEphemeralVolume 23L 25-;
GitRepoVolumeDriver 33d 36z; GracefulNodeShutdown 20a 21B; GracefulNodeShutdownBasedOnPodPriority 23a 24B;
HPAConfigurableTolerance 33a 35B; HPAContainerMetrics 20a 27B 30L 32-; HPAScaleToZero 16a; HonorPVReclaimPolicy 23a
31B 33L 36-; HostnameOverride 34a 35B; HugePageStorageMediumSize 18a 19B 22L 24-; HugePages 13B 15L 18-;
HyperVContainer 13a 20d 21-; IPTablesOwnershipCleanup 25a 27B 28L 30-; IPv6DualStack 15a 21B 23L 25-; IdentifyPodOS
23a 24B 25L 27-; ImageMaximumGCAge 29a 30B 35L; ImageVolume 31a 33b 35B 36L; ImageVolumeWithDigest 36a;
ImmutableEphemeralVolumes 18a 19B 21L 24-; InOrderInformers 33B 36L; InOrderInformersBatchProcess 35B;
InPlacePodVerticalScalingAllocatedStatus 32a 33d 36-; InPlacePodVerticalScalingExclusiveCPUs 32a;
InPlacePodVerticalScalingExclusiveMemory 34a; InPlacePodVerticalScalingInitContainers 36B; InTreePluginAWSUnregister
21a 31-; InTreePluginAzureDiskUnregister 21a 31-; InTreePluginAzureFileUnregister 21a 31-; InTreePluginGCEUnregister
21a 31-; InTreePluginOpenStackUnregister 21a 31-; InTreePluginPortworxUnregister 23a 36-; InTreePluginRBDUnregister
23a 28d 31-; InTreePluginvSphereUnregister 21a 31-; IndexedJob 21a 22B 24L 26-; InformerResourceVersion 30a 35G;
IngressClassNamespacedParams 21a 22B 23L 25-; Initializers 13a 15-; JobBackoffLimitPerIndex 28a 29B 33L;
JobManagedBy 30a 32B 35L; JobMutableNodeSchedulingDirectives 23B 27L 29-; JobPodFailurePolicy 25a 26B 31L 33-;
JobPodReplacementPolicy 28a 29B 34L; JobReadyPods 23a 24B 29L 31-; JobSuccessPolicy 30a 31B 33L;
JobTrackingWithFinalizers 22a 23b 25B 26L 29-; KMSv1 28D 29d; KMSv2 25a 27B 29L 32-; KMSv2KDF 28b 29L 32-;
KubeProxyDrainingTerminatingNodes 28a 30B 31L 33-; KubeletCgroupDriverFromCRI 28a 31B 34L;
KubeletCrashLoopBackOffMax 32a 35B; KubeletCredentialProviders 20a 24B 26L 28-; KubeletEnsureSecretPulledImages 33a
35B; KubeletFineGrainedAuthz 32a 33B 36L; KubeletInUserNamespace 22a; KubeletPSI 33a 34B 36L; KubeletPluginsWatcher
13L 18-; KubeletPodResources 13a 15B 28L 30-; KubeletPodResourcesDynamicResources 27a 34B 36L;
KubeletPodResourcesGet 27a 34B 36L; KubeletPodResourcesGetAllocatable 21a 23B 28L 30-;
KubeletPodResourcesListUseActivePods 34D; KubeletRegistrationGetOnExistsOnly 32d; KubeletSeparateDiskGC 29a 31B;
KubeletServiceAccountTokenForCredentialProviders 33a 34B; KubeletTracing 25a 27B 34L; LegacyNodeRoleBehavior 16a 19B
21l 22-; LegacyServiceAccountTokenCleanUp 28a 29B 30L 32-; LegacyServiceAccountTokenNoAutoGeneration 24B 26L 29-;
LegacyServiceAccountTokenTracking 26a 27B 28L 30-; LegacySidecarContainers 33d 34-; ListFromCacheSnapshot 33a 34B;
LoadBalancerIPMode 29a 30B 32L 35-; LocalStorageCapacityIsolation 13B 19- 25L 27-;
LocalStorageCapacityIsolationFSQuotaMonitoring 15a 31b; LogarithmicScaleDown 21a 22B 31L; LoggingAlphaOptions 24a;
LoggingBetaOptions 24B; ManifestBasedAdmissionControlConfig 36a; MatchLabelKeysInPodAffinity 36L;
MatchLabelKeysInPodTopologySpreadSelectorMerge 34B; MaxUnavailableStatefulSet 24a 35b; MemoryManager 21a 22B 32L
36-; MemoryQoS 22a; MinDomainsInPodTopologySpread 30L 32-; MinimizeIPTablesRestore 26a 27B 28L 30-;
MixedProtocolLBService 20a 24B 26L 28-; MountContainers 13a 18-; MultiCIDRRangeAllocator 25a 29-;
MultiCIDRServiceAllocator 27a 31b 33G 34L; MutableCSINodeAllocatableCount 33a 34b 35B 36L; MutablePVNodeAffinity
35a; MutablePodResourcesForSuspendedJobs 35a 36B; MutableSchedulingDirectivesForSuspendedJobs 35a 36B;
MutatingAdmissionPolicy 30a 34b 36G; NFTablesProxyMode 29a 31B 33L; NamespaceDefaultLabelName 21B 22L 24-;
NativeHistograms 36a; NetworkPolicyEndPort 21a 22B 25L 27-; NetworkPolicyStatus 24a 28-;
NewVolumeManagerReconstruction 27b 28B 30L 32-; NodeDisruptionExclusion 16a 19B 21L 22-; NodeLease 13a 15B 18L 23-;
NodeLogQuery 27a 30b 36L; NodeOutOfServiceVolumeDetach 24a 26B 28L 32-; NodeSwap 22a 28b 30B 34L;
NonPreemptingPriority 19B 24L 26-; OpenAPIEnums 23a 24B; OpenAPIV3 23a 24B 27L 29-; OrderedNamespaceDeletion 32b 33B
34L; PDBUnhealthyPodEvictionPolicy 26a 27B 31L 33-; PLEGOnDemandRelist 36B; PersistentLocalVolumes 13B 15L 18-;
PersistentVolumeClaimUnusedSinceTime 36a; PersistentVolumeLastPhaseTransitionTime 28a 29B 31L 33-;
PodAffinityNamespaceSelector 24L 26-; PodAndContainerStatsFromCRI 23a; PodCertificateRequest 34a 35b;
PodDeletionCost 21a 22B; PodDisruptionConditions 31L 34-; PodHasNetworkCondition 25a 28-; PodHostIPs 28a 29B 30L
32-; PodIndexLabel 28B 32L 35-; PodLevelResourceManagers 36a; PodLifecycleSleepAction 29a 30B 34L;
PodLifecycleSleepActionAllowZero 32a 33B 34L; PodLogsQuerySplitStreams 32a; PodObservedGenerationTracking 33a 34B
35L; PodOverhead 24L 26-; PodReadinessGates 13B 15L 18-; PodReadyToStartContainersCondition 28a 29B;
PodSchedulingReadiness 30L; PodSecurity 22a 23B 25L 28-; PodShareProcessNamespace 13B 18-;
PodTopologyLabelsAdmission 33a 35B; PodsAPI 36a; PortForwardWebsockets 30a 31B; PreferNominatedNode 24L 26-;
PreferSameTrafficDistribution 33a 34B 35L; PreventStaticPodAPIReferences 34B; ProbeHostPodSecurityStandards 34L 35-;
ProbeTerminationGracePeriod 21a 22b 25B 28L 29-; ProcMountType 13a 31b 33B 36L; ProxyTerminatingEndpoints 22a 26B
28L 30-; QOSReserved 13a; ReadWriteOncePod 29L 31-; RecoverVolumeExpansionFailure 23a 32B 34L;
RecursiveReadOnlyMounts 30a 31B 33L; ReduceDefaultCrashLoopBackOffDecay 33a; RelaxedDNSSearchValidation 32a 33B 34L;
RelaxedEnvironmentVariableValidation 30a 32B 34L; RelaxedServiceNameValidation 34a 36B; ReloadKubeletClientCAFile
36B; ReloadKubeletServerCertificateFile 31B; RemainingItemCount 15a 16B 29L 33-; RemoteRequestHeaderUID 32a 33B;
RemoveSelfLink 16a 20B 24L 30-; RequestManagement 15a 18-; ResilientWatchCacheInitialization 31B 34L;
ResourceHealthStatus 31a 36B; ResourceHealthStatusMessage 36B; ResourceQuotaScopeSelectors 13B 18-;
RestartAllContainersOnContainerExits 35a 36B; RetroactiveDefaultStorageClass 25a 26B 28L 29-; RetryGenerateName 30a
31B 32L; RootCAConfigMap 18a 20B 21L 22-; RotateKubeletClientCertificate 13B 19L 21-; RotateKubeletServerCertificate
13B; RunAsGroup 15B 21L 22-; RuntimeClass 13a 15B 20L 24-; RuntimeClassInImageCriApi 29a; SCTPSupport 13a 19B 20L
22-; SELinuxChangePolicy 32a 33B 36L; SELinuxMount 30a 33b; SELinuxMountReadWriteOncePod 25a 27b 28B 36L;
ScheduleDaemonSetPods 13B 18-; SeccompDefault 22a 25B 27L 29-; SecurityContextDeny 27a 30-; SelectorIndex 18a 19B
20L 25-; SeparateCacheWatchRPC 29B 33d 36z; SeparateTaintEvictionController 29B 34L; ServerSideApply 15a 16B 22G 26L
32-; ServerSideFieldValidation 23a 25B 27L 32-; ServiceAccountIssuerDiscovery 18a 20B 21L 23-;
ServiceAccountNodeAudienceRestriction 32b 33B; ServiceAccountTokenJTI 29a 30B 32L; ServiceAccountTokenNodeBinding
29a 31B 33L; ServiceAccountTokenNodeBindingValidation 29a 30B 32L; ServiceAccountTokenPodNodeInfo 29a 30B 32L;
ServiceAppProtocol 18a 19B 20L 22-; ServiceCIDRStatusFieldWiping 36D; ServiceIPStaticSubrange 24a 25B 26L 28-;
ServiceInternalTrafficPolicy 21a 22B 26L 28-; ServiceLBNodePortControl 20a 22B 24L 26-; ServiceLoadBalancerClass 21a
22B 24L 26-; ServiceLoadBalancerFinalizer 15a 16B 18-; ServiceNodeExclusion 13a 19B 21L 22-;
ServiceNodePortStaticSubrange 27a 28B 29L 31-; ServiceTopology 18a 22-; ServiceTrafficDistribution 30a 31B 33L 36-;
SetHostnameAsFQDN 19a 20B 22L 24-; ShardedListAndWatch 36a; SizeBasedListCostEstimate 34B; SizeMemoryBackedVolumes
20a 22B 32L 35-; SkipReadOnlyValidationGCE 28a 29D 31-; StableLoadBalancerNodeSet 27B 30L 32-;
StaleControllerConsistencyDaemonSet 36B; StaleControllerConsistencyJob 36B; StaleControllerConsistencyReplicaSet
36B; StaleControllerConsistencyStatefulSet 36B; StartupProbe 16a 18B 20L 23-; StatefulSetAutoDeletePVC 22a 27B 32L
35-; StatefulSetMinReadySeconds 22a 23B 25L 27-; StatefulSetSemanticRevisionComparison 35B; StatefulSetStartOrdinal
26a 27B 31L 34-; StorageNamespaceIndex 30B 33D; StorageObjectInUseProtection 18G 23L 25-; StorageVersionAPI 20a;
StorageVersionHash 15B; StorageVersionMigrator 30a 35b; StreamingCollectionEncodingToJSON 33B 34L;
StreamingCollectionEncodingToProtobuf 33B 34L; StreamingProxyRedirects 13B 18D 22d 24-; StrictCostEnforcementForVAP
30b 32L 35-; StrictCostEnforcementForWebhooks 30b 32L 35-; StrictIPCIDRValidation 33a 36B;
StructuredAuthenticationConfiguration 29a 30B 34L; StructuredAuthenticationConfigurationEgressSelector 34B;
StructuredAuthenticationConfigurationJWKSMetrics 35B; StructuredAuthorizationConfiguration 29a 30B 32L 36-;
SupplementalGroupsPolicy 31a 33B 35L; SupportIPVSProxyMode 13G 18-; SupportNodePidsLimit 15B 20L 23-;
SupportPodPidsLimit 13a 15B 20L 23-; SuspendJob 21a 22B 24L 26-; Sysctls 13B 21L 23-; SystemdWatchdog 32B 35L;
TTLAfterFinished 13a 21B 23L 25-; TaintBasedEvictions 13B 18-; TokenRequest 13B 20L 21-; TokenRequestProjection 13B
20L 21-; TokenRequestServiceAccountUIDValidation 34B; TopologyAwareHints 21a 23b 24B 33L 36-; TopologyManager 16a
18B 27L 29-; TopologyManagerPolicyAlphaOptions 26a; TopologyManagerPolicyBetaOptions 26b 28B;
TopologyManagerPolicyOptions 26a 28B 32G 36L; TranslateStreamCloseWebsocketRequests 29a 30B;
UnauthenticatedHTTP2DOSMitigation 27b 29B; UnknownVersionInteroperabilityProxy 28a 36B; UnlockWhileProcessingFIFO
36B; UserNamespacesHostNetworkSupport 35a; UserNamespacesPodSecurityStandards 29a 35-;
UserNamespacesStatelessPodsSupport 25a 28-; UserNamespacesSupport 28a 30b 33B 36L; ValidateProxyRedirects 13a 15B
22D 24-; ValidatingAdmissionPolicy 26a 28b 30L 32-; VolumeAttributesClass 29a 31-; VolumePVCDataSource 15a 16B 18L
21-; VolumeScheduling 15L 18-; VolumeSnapshotDataSource 13a 18B 20L 22-; VolumeSubpath 13G 23L 25-;
VolumeSubpathEnvExpansion 15B 18-; WarningHeaders 19B 22L 24-; WatchBookmark 15a 16B 18L 33-;
WatchCacheInitializationPostStartHook 31b 36B; WatchFromStorageWithoutResourceVersion 29b 33z 36-; WatchList 27a 32B
33b 34B; WatchListClient 30b 35B; WinDSR 15a 33B 34L; WinOverlay 15a 20B 34L; WindowsCPUAndMemoryAffinity 32a;
WindowsEndpointSliceProxying 19a 21B 22L 25-; WindowsGMSA 15a 16B 18L 21-; WindowsGracefulNodeShutdown 32a 34B;
WindowsHostNetwork 26A 33d; WindowsHostProcessContainers 22a 23B 26L 28-; WindowsRunAsUserName 16a 18L 21-;
WorkloadWithJob 36a; ZeroLimitedNominalConcurrencyShares 29b 30L 32-
"""
"""Name, then each release, as what follows 1., from which on it is something else, with the letter of that. Upstream:
pkg/features and those of its libraries, of the releases as they were at their last patches; 1.13 to 1.19, the alpha and
beta gates of 1.22 and 1.24, and what graduated in 1.26 are from the published tables of gates."""


@cache
def _histories() -> Mapping[str, list[tuple[int, Gate | None]]]:
    """Name → (minor release, what it is from there on), the oldest first."""
    entries = (entry.split() for entry in _HISTORY.split(";"))
    return {name: [(int(step[:-1]), _STATES[step[-1]]) for step in steps] for name, *steps in entries}


def gates_elsewhere(release: str) -> Iterator[tuple[str, Gate]]:
    """(name, gate) of each that the release's process takes."""
    minor = int(release.removeprefix("1."))
    for name, steps in _histories().items():
        if found := next((gate for since, gate in reversed(steps) if since <= minor), None):
            yield name, found


NEEDS_1_35: Mapping[str, tuple[str, ...]] = {
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DeclarativeValidationTakeover": ("DeclarativeValidation",),
    "GangScheduling": ("GenericWorkload",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "InPlacePodLevelResourcesVerticalScaling": ("PodLevelResources", "NodeDeclaredFeatures"),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "ProcMountType": ("UserNamespacesSupport",),
    "RestartAllContainersOnContainerExits": ("ContainerRestartRules", "NodeDeclaredFeatures"),
    "StorageVersionAPI": ("APIServerIdentity",),
    "UnknownVersionInteroperabilityProxy": ("APIServerIdentity",),
    "UserNamespacesHostNetworkSupport": ("UserNamespacesSupport",),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
}

NEEDS_1_36: Mapping[str, tuple[str, ...]] = {
    **NEEDS_1_35,
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus",),
    "DRAWorkloadResourceClaims": ("GenericWorkload",),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "InPlacePodVerticalScalingInitContainers": ("NodeDeclaredFeatures",),
    "PodLevelResourceManagers": ("PodLevelResources",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
    "StaleControllerConsistencyDaemonSet": ("AtomicFIFO",),
    "StaleControllerConsistencyJob": ("AtomicFIFO",),
    "StaleControllerConsistencyReplicaSet": ("AtomicFIFO",),
    "StaleControllerConsistencyStatefulSet": ("AtomicFIFO",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "UserNamespacesHostNetworkSupport": ("NodeDeclaredFeatures",),
    "WorkloadAwarePreemption": ("GangScheduling",),
    "WorkloadWithJob": ("GenericWorkload",),
}
"""Gate → those that have to be on where it is on; no release before 1.35 asks."""
