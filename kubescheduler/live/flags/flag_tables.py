"""The flags of each release's kube-scheduler that have an effect here, with their defaults."""

from __future__ import annotations

from typing import Any

from kubescheduler.live.flags.flag_parsing import Flag, FlagKind

SECOND = 1_000_000_000

T, B, N, F = FlagKind.TEXT, FlagKind.BOOL, FlagKind.INT, FlagKind.FLOAT
D, S, P, E = FlagKind.DURATION, FlagKind.TEXTS, FlagKind.PAIRS, FlagKind.EACH


def old(name: str, kind: FlagKind, default: Any, text: str) -> Flag:
    """A flag that the configuration file replaces."""
    return Flag(name, kind, default, f"DEPRECATED: {text}", deprecated=True)


def connection(*, profiling: bool) -> tuple[Flag, ...]:
    """How the API server is reached."""
    return (
        Flag("config", T, "", "The path to the configuration file."),
        Flag("master", T, "", "The address of the Kubernetes API server (overrides any value in kubeconfig)."),
        Flag("write-config-to", T, "", "If set, write the configuration values to this file and exit."),
        old("kubeconfig", T, "", "path to kubeconfig file with authorization and master location information."),
        old("kube-api-content-type", T, "application/vnd.kubernetes.protobuf", "content type of requests."),
        old("kube-api-qps", F, 50.0, "QPS to use while talking with kubernetes apiserver."),
        old("kube-api-burst", N, 100, "burst to use while talking with kubernetes apiserver."),
        old("profiling", B, profiling, "enable profiling via web interface host:port/debug/pprof/."),
        old("contention-profiling", B, profiling, "enable block profiling, if profiling is enabled."),
        Flag("feature-gates", P, {}, "A set of key=value pairs that describe feature gates."),
        Flag("v", N, 0, "Number for the log level verbosity.", short="v"),
        Flag("version", B, False, "Print version information and quit."),
        Flag("help", B, False, "Help for kube-scheduler.", short="h"),
    )


def election(lock: str) -> tuple[Flag, ...]:
    """How leaders are elected."""
    return (
        Flag("leader-elect", B, True, "Start a leader election client and gain leadership before scheduling."),
        Flag("leader-elect-lease-duration", D, 15 * SECOND, "How long candidates leave a leader alone."),
        Flag("leader-elect-renew-deadline", D, 10 * SECOND, "How long a leader tries to renew before it gives up."),
        Flag("leader-elect-retry-period", D, 2 * SECOND, "How long to wait between tries."),
        Flag("leader-elect-resource-lock", T, lock, "The type of resource object that is used for locking."),
        Flag("leader-elect-resource-name", T, "kube-scheduler", "The name of resource object used for locking."),
        Flag("leader-elect-resource-namespace", T, "kube-system", "The namespace of that object."),
    )


def serving(*always_allowed: str) -> tuple[Flag, ...]:
    """The secure port, and who may ask what."""
    return (
        Flag("bind-address", T, "0.0.0.0", "The IP address on which to listen for the --secure-port port."),
        Flag("secure-port", N, 10259, "The port on which to serve HTTPS; 0: don't serve HTTPS at all."),
        Flag("cert-dir", T, "", "The directory where the TLS certs are located."),
        Flag("tls-cert-file", T, "", "File containing the default x509 Certificate for HTTPS."),
        Flag("tls-private-key-file", T, "", "File containing the private key matching --tls-cert-file."),
        Flag("tls-cipher-suites", S, (), "Comma-separated list of cipher suites for the server."),
        Flag("tls-min-version", T, "", "Minimum TLS version supported."),
        Flag("tls-sni-cert-key", E, (), "A pair of x509 certificate and private key file paths."),
        Flag("http2-max-streams-per-connection", N, 0, "The limit that the server gives to clients."),
        Flag("authentication-kubeconfig", T, "", "kubeconfig with rights to create tokenreviews."),
        Flag("authorization-kubeconfig", T, "", "kubeconfig with rights to create subjectaccessreviews."),
        Flag("authentication-skip-lookup", B, False, "Don't look up missing authentication configuration."),
        Flag("authentication-tolerate-lookup-failure", B, True, "Failures to look that up are not fatal."),
        Flag("authentication-token-webhook-cache-ttl", D, 10 * SECOND, "How long to cache token reviews."),
        Flag("authorization-webhook-cache-authorized-ttl", D, 10 * SECOND, "How long to cache 'authorized'."),
        Flag("authorization-webhook-cache-unauthorized-ttl", D, 10 * SECOND, "How long to cache 'unauthorized'."),
        Flag("authorization-always-allow-paths", S, always_allowed, "Paths that need no authorization."),
        Flag("client-ca-file", T, "", "Client certificates signed by one of these authorities are taken."),
        Flag("requestheader-client-ca-file", T, "", "Root certificates of front proxies."),
        Flag("requestheader-allowed-names", S, (), "Common names of front proxies."),
        Flag("requestheader-username-headers", S, ("x-remote-user",), "Headers to look for user names."),
        Flag("requestheader-group-headers", S, ("x-remote-group",), "Headers to look for groups."),
        Flag("requestheader-extra-headers-prefix", S, ("x-remote-extra-",), "Prefixes of headers with more."),
    )


LEGACY = (
    old("address", T, "0.0.0.0", "the IP address on which to listen for the --port port."),
    old("port", N, 10251, "the port on which to serve HTTP insecurely; 0: don't serve HTTP at all."),
    old("algorithm-provider", T, "", "the scheduling algorithm provider to use."),
    old("policy-config-file", T, "", "file with scheduler policy configuration."),
    old("policy-configmap", T, "", "name of the ConfigMap that contains the policy under the key policy.cfg."),
    old("policy-configmap-namespace", T, "kube-system", "the namespace of that ConfigMap."),
    old("use-legacy-policy-config", B, False, "the policy file goes before the ConfigMap."),
    old("scheduler-name", T, "default-scheduler", "name of the scheduler, used to select its pods."),
    old("hard-pod-affinity-symmetric-weight", N, 1, "weight of implicit PreferredDuringScheduling affinity."),
    old("lock-object-namespace", T, "kube-system", "the namespace of the lock object."),
    old("lock-object-name", T, "kube-scheduler", "the name of the lock object."),
)

FLAGS_1_16 = (*connection(profiling=False), *LEGACY, *election("endpoints"), *serving("/healthz"))
FLAGS_1_20 = (
    *connection(profiling=True),
    *LEGACY,
    *election("leases"),
    *serving("/healthz"),
    Flag("permit-port-sharing", B, False, "SO_REUSEPORT will be used when binding the port."),
    Flag("show-hidden-metrics-for-version", T, "", "The previous version for which to show hidden metrics."),
    Flag("logging-format", T, "text", "The log format."),
)
FLAGS_1_36 = (
    *connection(profiling=True),
    *election("leases"),
    *serving("/healthz", "/readyz", "/livez"),
    old(
        *("pod-max-in-unschedulable-pods-duration", D, 300 * SECOND),
        "the maximum time a pod can stay in unschedulablePods.",
    ),
    Flag("requestheader-uid-headers", S, (), "Headers to look for uids."),
    Flag("permit-port-sharing", B, False, "SO_REUSEPORT will be used when binding the port."),
    Flag("permit-address-sharing", B, False, "SO_REUSEADDR will be used when binding the port."),
    Flag("disable-http2-serving", B, False, "HTTP2 serving will be disabled."),
    Flag("show-hidden-metrics-for-version", T, "", "The previous version for which to show hidden metrics."),
    Flag("disabled-metrics", S, (), "Metrics that are not exported."),
    Flag("logging-format", T, "text", "The log format."),
)
