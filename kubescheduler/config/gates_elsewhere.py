"""Feature gates that no decision depends on: a release's process takes them, and they have no effect here."""

from __future__ import annotations

from collections.abc import Mapping

from kubescheduler.config.gates import Gate


def _all(gate: Gate, names: str) -> dict[str, Gate]:
    """Names, separated by white space, of gates that are alike."""
    return dict.fromkeys(names.split(), gate)


ELSEWHERE_1_13: Mapping[str, Gate] = _all(
    Gate(default=False, stage="alpha"),
    """
    CSIMigration CSIMigrationAWS CSIMigrationAzureDisk CSIMigrationAzureFile CSIMigrationGCE CSIMigrationOpenStack
    """,
)
"""Name → gate, of those that have to do with scheduling in later releases. Upstream: 1.13 pkg/features."""

ELSEWHERE_1_20: Mapping[str, Gate] = {
    **_all(
        Gate(default=False, stage="alpha"),
        """
        AnyVolumeDataSource BoundServiceAccountTokenVolume CSIMigrationAWSComplete CSIMigrationAzureDiskComplete
        CSIMigrationAzureFile CSIMigrationAzureFileComplete CSIMigrationGCEComplete CSIMigrationOpenStackComplete
        CSIServiceAccountToken CronJobControllerV2 CustomCPUCFSQuotaPeriod DownwardAPIHugePages EndpointSliceNodeName
        EndpointSliceTerminatingCondition EphemeralContainers GracefulNodeShutdown HPAContainerMetrics HPAScaleToZero
        IPv6DualStack KubeletCredentialProviders LocalStorageCapacityIsolationFSQuotaMonitoring MixedProtocolLBService
        ProcMountType QOSReserved ServiceLBNodePortControl ServiceTopology SizeMemoryBackedVolumes TTLAfterFinished
        WinDSR WindowsEndpointSliceProxying
        """,
    ),
    **_all(
        Gate(default=False, stage="beta"),
        """
        CSIMigrationvSphere CSIMigrationvSphereComplete ExperimentalHostUserNamespaceDefaulting
        """,
    ),
    **_all(
        Gate(default=True, stage="beta"),
        """
        APIListChunking APIPriorityAndFairness APIResponseCompression AllowInsecureBackendProxy AppArmor CPUManager
        CRIContainerLogRotation CSIInlineVolume CSIVolumeFSGroupPolicy ConfigurableFSGroupPolicy DevicePlugins
        DisableAcceleratorUsageMetrics DynamicKubeletConfig EndpointSlice EndpointSliceProxying ExpandCSIVolumes
        ExpandInUsePersistentVolumes ExpandPersistentVolumes HugePageStorageMediumSize ImmutableEphemeralVolumes
        KubeletPodResources LegacyNodeRoleBehavior NodeDisruptionExclusion NonPreemptingPriority RootCAConfigMap
        RotateKubeletServerCertificate RunAsGroup ServerSideApply ServiceAccountIssuerDiscovery ServiceNodeExclusion
        SetHostnameAsFQDN Sysctls TopologyManager ValidateProxyRedirects WarningHeaders WinOverlay
        """,
    ),
    **_all(
        Gate(default=False, stage="deprecated"),
        """
        HyperVContainer
        """,
    ),
    **_all(
        Gate(default=True, stage="deprecated"),
        """
        StreamingProxyRedirects
        """,
    ),
    **_all(
        Gate(default=True, stage="GA"),
        """
        AdvancedAuditing DryRun ExecProbeTimeout StorageObjectInUseProtection VolumeSubpath
        """,
    ),
    **_all(
        Gate(default=True, stage="GA", locked=True),
        """
        AttachVolumeLimit BlockVolume CSIBlockVolume CSIDriverRegistry ExternalPolicyForExternalIP NodeLease
        RotateKubeletClientCertificate RuntimeClass SCTPSupport ServiceAppProtocol StartupProbe SupportNodePidsLimit
        SupportPodPidsLimit TokenRequest TokenRequestProjection VolumePVCDataSource VolumeSnapshotDataSource WindowsGMSA
        WindowsRunAsUserName
        """,
    ),
}
"""Name → gate. Upstream: 1.20 pkg/features."""

ELSEWHERE_1_36: Mapping[str, Gate] = {
    **_all(
        Gate(default=False, stage="alpha"),
        """
        APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions
        CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
        CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ContainerStopSignals
        CrossNamespaceVolumeDataSource DRAResourcePoolStatus EventedPLEG HPAScaleToZero ImageVolumeWithDigest
        InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace
        LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity NativeHistograms
        PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodLevelResourceManagers
        PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi
        ShardedListAndWatch StorageVersionAPI TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
        WindowsCPUAndMemoryAffinity WorkloadWithJob
        """,
    ),
    **_all(
        Gate(default=False, stage="beta"),
        """
        ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode CoordinatedLeaderElection
        LocalStorageCapacityIsolationFSQuotaMonitoring MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount
        StorageVersionMigrator
        """,
    ),
    **_all(
        Gate(default=True, stage="beta"),
        """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
        AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions CRDObservedGenerationTracking
        ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz
        ComponentStatusz ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules ContextualLogging
        DRAResourceClaimGranularStatusAuthorization DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
        DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride InOrderInformersBatchProcess
        InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages
        KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
        MatchLabelKeysInPodTopologySpreadSelectorMerge MutablePodResourcesForSuspendedJobs
        MutableSchedulingDirectivesForSuspendedJobs OpenAPIEnums PLEGOnDemandRelist PodDeletionCost
        PodReadyToStartContainersCondition PodTopologyLabelsAdmission PortForwardWebsockets
        PreventStaticPodAPIReferences RelaxedServiceNameValidation ReloadKubeletClientCAFile
        ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits RotateKubeletServerCertificate ServiceAccountNodeAudienceRestriction
        SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
        StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison
        StorageVersionHash StrictIPCIDRValidation StructuredAuthenticationConfigurationEgressSelector
        StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
        TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
        UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO WatchCacheInitializationPostStartHook WatchList
        WatchListClient WindowsGracefulNodeShutdown
        """,
    ),
    **_all(
        Gate(default=False, stage="deprecated"),
        """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests ChangeContainerStatusOnKubeletRestart
        DeclarativeValidationTakeover KMSv1 KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
        """,
    ),
    **_all(
        Gate(default=False, stage="deprecated", locked=True),
        """
        AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver SeparateCacheWatchRPC
        """,
    ),
    **_all(
        Gate(default=True, stage="deprecated"),
        """
        DisableCPUQuotaWithExclusiveCPUs KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping
        StorageNamespaceIndex
        """,
    ),
    **_all(
        Gate(default=True, stage="deprecated", locked=True),
        """
        AggregatedDiscoveryRemoveBetaType DisableNodeKubeProxyVersion
        """,
    ),
    **_all(
        Gate(default=True, stage="GA"),
        """
        AllowServiceExternalIPs CustomCPUCFSQuotaPeriod InformerResourceVersion MutatingAdmissionPolicy
        """,
    ),
    **_all(
        Gate(default=True, stage="GA", locked=True),
        """
        APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource AuthorizeNodeWithSelectors
        AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions CRDValidationRatcheting
        CSIServiceAccountTokenSecrets ConsistentListFromCache CustomResourceFieldSelectors DeclarativeValidation
        DisableAllocatorDualWrite ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume
        InOrderInformers JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy
        KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources
        KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
        MutableCSINodeAllocatableCount NFTablesProxyMode NodeLogQuery NodeSwap OrderedNamespaceDeletion
        PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking PodSchedulingReadiness
        PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
        RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization
        RetryGenerateName SELinuxChangePolicy SELinuxMountReadWriteOncePod SeparateTaintEvictionController
        ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
        ServiceAccountTokenPodNodeInfo StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
        StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions
        UserNamespacesSupport WinDSR WinOverlay
        """,
    ),
}
"""Name → gate. Upstream: 1.36 pkg/features, and those of its libraries."""

NEEDS_1_36: Mapping[str, tuple[str, ...]] = {
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus",),
    "DRAWorkloadResourceClaims": ("GenericWorkload",),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "GangScheduling": ("GenericWorkload",),
    "GracefulNodeShutdownBasedOnPodPriority": ("GracefulNodeShutdown",),
    "InPlacePodLevelResourcesVerticalScaling": (
        "NodeDeclaredFeatures",
        "PodLevelResources",
    ),
    "InPlacePodVerticalScalingInitContainers": ("NodeDeclaredFeatures",),
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": ("MatchLabelKeysInPodTopologySpread",),
    "PodLevelResourceManagers": ("PodLevelResources",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
    "RestartAllContainersOnContainerExits": (
        "ContainerRestartRules",
        "NodeDeclaredFeatures",
    ),
    "StaleControllerConsistencyDaemonSet": ("AtomicFIFO",),
    "StaleControllerConsistencyJob": ("AtomicFIFO",),
    "StaleControllerConsistencyReplicaSet": ("AtomicFIFO",),
    "StaleControllerConsistencyStatefulSet": ("AtomicFIFO",),
    "StorageVersionAPI": ("APIServerIdentity",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "UnknownVersionInteroperabilityProxy": ("APIServerIdentity",),
    "UserNamespacesHostNetworkSupport": ("NodeDeclaredFeatures",),
    "WindowsGracefulNodeShutdown": ("GracefulNodeShutdown",),
    "WorkloadAwarePreemption": ("GangScheduling",),
    "WorkloadWithJob": ("GenericWorkload",),
}
"""Gate → those that have to be on where it is on; locked ones are left out. Upstream: 1.36."""
