"""All flags of each release's kube-scheduler, section by section, with their defaults."""

from __future__ import annotations

from typing import Any

import msgspec

from kubescheduler.live.flags import Flag, FlagKind

SECOND = 1_000_000_000

T, B, N, F, D, S, P = (
    FlagKind.TEXT,
    FlagKind.BOOL,
    FlagKind.INT,
    FlagKind.FLOAT,
    FlagKind.DURATION,
    FlagKind.TEXTS,
    FlagKind.PAIRS,
)

Flags = tuple[Flag, ...]


def old(name: str, kind: FlagKind, default: Any, text: str) -> Flag:
    """A flag that the configuration file replaces."""
    return Flag(name, kind, default, f"DEPRECATED: {text}")


def idle(name: str, kind: FlagKind, default: Any, text: str) -> Flag:
    """A flag that is read, and has no effect here."""
    return Flag(name, kind, default, text, idle=True)


def section(name: str, *flags: Flag) -> Flags:
    """Flags under one heading of help."""
    return tuple(msgspec.structs.replace(flag, section=name) for flag in flags)


MISC = section(
    "Misc",
    Flag("config", T, "", "The path to the configuration file."),
    Flag("master", T, "", "The address of the Kubernetes API server (overrides any value in kubeconfig)."),
    Flag("write-config-to", T, "", "If set, write the configuration values to this file and exit."),
)
"""Where settings are read and written."""


def connection(*, profiling: bool) -> Flags:
    """How the API server is reached."""
    return section(
        "Deprecated",
        old("kubeconfig", T, "", "path to kubeconfig file with authorization and master location information."),
        msgspec.structs.replace(
            old("kube-api-content-type", T, "application/vnd.kubernetes.protobuf", "content type of requests."),
            idle=True,
        ),
        old("kube-api-qps", F, 50.0, "QPS to use while talking with kubernetes apiserver."),
        old("kube-api-burst", FlagKind.INT32, 100, "burst to use while talking with kubernetes apiserver."),
        msgspec.structs.replace(
            old("profiling", B, profiling, "enable profiling via web interface host:port/debug/pprof/."), idle=True
        ),
        msgspec.structs.replace(
            old("contention-profiling", B, profiling, "enable block profiling, if profiling is enabled."), idle=True
        ),
    )


LEGACY = section(
    "Deprecated",
    old("algorithm-provider", T, "", "the scheduling algorithm provider to use."),
    old("policy-config-file", T, "", "file with scheduler policy configuration."),
    old("policy-configmap", T, "", "name of the ConfigMap that contains the policy under the key policy.cfg."),
    old("policy-configmap-namespace", T, "kube-system", "the namespace of that ConfigMap."),
    old("use-legacy-policy-config", B, False, "the policy file goes before the ConfigMap."),
    old("scheduler-name", T, "default-scheduler", "name of the scheduler, used to select its pods."),
    old(
        "hard-pod-affinity-symmetric-weight",
        FlagKind.INT32,
        1,
        "weight of implicit PreferredDuringScheduling affinity.",
    ),
    old("lock-object-namespace", T, "kube-system", "the namespace of the lock object."),
    old("lock-object-name", T, "kube-scheduler", "the name of the lock object."),
)
"""What 1.36 does not have any more."""

INSECURE = section(
    "Insecure serving",
    old("address", T, "0.0.0.0", "the IP address on which to listen for the --port port."),
    old("port", N, 10251, "the port on which to serve HTTP insecurely; 0: don't serve HTTP at all."),
)
"""HTTP without credentials, which 1.36 does not have any more."""


def election(lock: str) -> Flags:
    """How leaders are elected."""
    return section(
        "Leader election",
        Flag("leader-elect", B, True, "Start a leader election client and gain leadership before scheduling."),
        Flag("leader-elect-lease-duration", D, 15 * SECOND, "How long candidates leave a leader alone."),
        Flag("leader-elect-renew-deadline", D, 10 * SECOND, "How long a leader tries to renew before it gives up."),
        Flag("leader-elect-retry-period", D, 2 * SECOND, "How long to wait between tries."),
        Flag("leader-elect-resource-lock", T, lock, "The type of resource object that is used for locking."),
        Flag("leader-elect-resource-name", T, "kube-scheduler", "The name of resource object used for locking."),
        Flag("leader-elect-resource-namespace", T, "kube-system", "The namespace of that object."),
    )


SERVING = section(
    "Secure serving",
    Flag("bind-address", FlagKind.IP, "0.0.0.0", "The IP address on which to listen for the --secure-port port."),
    Flag("secure-port", N, 10259, "The port on which to serve HTTPS; 0: don't serve HTTPS at all."),
    Flag("cert-dir", T, "", "The directory where the TLS certs are located."),
    Flag("tls-cert-file", T, "", "File containing the default x509 Certificate for HTTPS."),
    Flag("tls-private-key-file", T, "", "File containing the private key matching --tls-cert-file."),
    Flag("tls-cipher-suites", S, (), "Comma-separated list of cipher suites for the server."),
    Flag("tls-min-version", T, "", "Minimum TLS version supported."),
    Flag("tls-sni-cert-key", FlagKind.CERTIFICATES, (), "A pair of x509 certificate and private key file paths."),
    idle("http2-max-streams-per-connection", N, 0, "The limit that the server gives to clients."),
)
"""The secure port."""

AUTHENTICATION = section(
    "Authentication",
    Flag("authentication-kubeconfig", T, "", "kubeconfig with rights to create tokenreviews."),
    Flag("authentication-skip-lookup", B, False, "Don't look up missing authentication configuration."),
    Flag("authentication-tolerate-lookup-failure", B, True, "Failures to look that up are not fatal."),
    Flag("authentication-token-webhook-cache-ttl", D, 10 * SECOND, "How long to cache token reviews."),
    Flag("client-ca-file", T, "", "Client certificates signed by one of these authorities are taken."),
    Flag("requestheader-client-ca-file", T, "", "Root certificates of front proxies."),
    Flag("requestheader-allowed-names", S, (), "Common names of front proxies."),
    Flag("requestheader-username-headers", S, ("x-remote-user",), "Headers to look for user names."),
    Flag("requestheader-group-headers", S, ("x-remote-group",), "Headers to look for groups."),
    Flag("requestheader-extra-headers-prefix", S, ("x-remote-extra-",), "Prefixes of headers with more."),
)
"""Who asks."""


def authorization(*always_allowed: str) -> Flags:
    """Who may ask what."""
    return section(
        "Authorization",
        Flag("authorization-kubeconfig", T, "", "kubeconfig with rights to create subjectaccessreviews."),
        Flag("authorization-webhook-cache-authorized-ttl", D, 10 * SECOND, "How long to cache 'authorized'."),
        Flag("authorization-webhook-cache-unauthorized-ttl", D, 10 * SECOND, "How long to cache 'unauthorized'."),
        Flag("authorization-always-allow-paths", S, always_allowed, "Paths that need no authorization."),
    )


GLOBAL = section(
    "Global",
    Flag("help", B, False, "Help for kube-scheduler.", short="h"),
    Flag("version", FlagKind.VERSION, "false", "Print version information and quit."),
)
"""What is asked of the program itself."""

VERBOSITY = Flag("v", FlagKind.LEVEL, 0, "Number for the log level verbosity.", short="v")
VMODULE = idle("vmodule", FlagKind.PATTERNS, "", "Comma-separated list of pattern=N settings for logging by file.")
FLUSHING = idle("log-flush-frequency", D, 5 * SECOND, "Maximum number of seconds between log flushes.")

LOG_FILES = (
    idle("add-dir-header", B, False, "Adds the file directory to the header of the log messages."),
    idle("alsologtostderr", B, False, "Log to standard error as well as files."),
    idle("log-backtrace-at", T, ":0", "When logging hits line file:N, emit a stack trace."),
    idle("log-dir", T, "", "If non-empty, write log files in this directory."),
    idle("log-file", T, "", "If non-empty, use this log file."),
    idle("log-file-max-size", N, 1800, "The maximum size a log file can grow to, in megabytes."),
    idle("logtostderr", B, True, "Log to standard error instead of files."),
    idle("skip-headers", B, False, "Avoid header prefixes in the log messages."),
    idle("skip-log-headers", B, False, "Avoid headers when opening log files."),
    idle("stderrthreshold", T, "2", "Logs at or above this threshold go to stderr."),
)
"""klog's own flags (1.16 and 1.20): the log is always written to stderr here."""


SHARING = Flag("permit-port-sharing", B, False, "SO_REUSEPORT will be used when binding the port.")
HIDDEN = Flag("show-hidden-metrics-for-version", T, "", "The previous version for which to show hidden metrics.")
GATES = section("Feature gate", Flag("feature-gates", P, {}, "A set of key=value pairs that describe feature gates."))
"""In releases before components had names."""

FLAGS_1_16 = (
    *MISC,
    *SERVING,
    *INSECURE,
    *AUTHENTICATION,
    *authorization("/healthz"),
    *connection(profiling=False),
    *LEGACY,
    *election("endpoints"),
    *GATES,
    *section("Global", VERBOSITY, VMODULE, FLUSHING, *LOG_FILES),
    *GLOBAL,
)
FLAGS_1_20 = (
    *MISC,
    *SERVING,
    *section("Secure serving", SHARING),
    *INSECURE,
    *AUTHENTICATION,
    *authorization("/healthz"),
    *connection(profiling=True),
    *LEGACY,
    *election("leases"),
    *GATES,
    *section("Metrics", HIDDEN),
    *section(
        "Logs",
        Flag("logging-format", T, "text", "The log format: text or json."),
        idle("experimental-logging-sanitization", B, False, "Prevents logging of fields tagged as sensitive."),
    ),
    *section("Global", VERBOSITY, VMODULE, FLUSHING, *LOG_FILES),
    *section("Global", idle("one-output", B, False, "Only write logs to their native severity level.")),
    *GLOBAL,
)
FLAGS_1_36 = (
    *MISC,
    *SERVING,
    *section(
        "Secure serving",
        SHARING,
        Flag("permit-address-sharing", B, False, "SO_REUSEADDR will be used when binding the port."),
        idle("disable-http2-serving", B, False, "HTTP2 serving will be disabled."),
        idle("tls-curve-preferences", FlagKind.NUMBERS, (), "Curves of key exchanges, by their numbers."),
    ),
    *AUTHENTICATION,
    *section("Authentication", Flag("requestheader-uid-headers", S, (), "Headers to look for uids.")),
    *authorization("/healthz", "/readyz", "/livez"),
    *connection(profiling=True),
    *section(
        "Deprecated",
        old(
            *("pod-max-in-unschedulable-pods-duration", D, 300 * SECOND),
            "the maximum time a pod can stay in unschedulablePods.",
        ),
    ),
    *election("leases"),
    *section(
        "Feature gate",
        Flag("feature-gates", FlagKind.GATES, (), "Comma-separated list of component:key=value feature gates."),
        idle("emulated-version", S, (), "The versions different components emulate their capabilities of."),
        idle("min-compatibility-version", S, (), "The min version of components to be compatible with."),
    ),
    *section(
        "Metrics",
        HIDDEN,
        Flag("disabled-metrics", S, (), "Metrics that are not exported."),
        idle("allow-metric-labels", FlagKind.LABELS, {}, "Metric and label → the values that it may have."),
        idle("allow-metric-labels-manifest", T, "", "The path to a file with the same."),
    ),
    *section(
        "Logs",
        Flag("logging-format", T, "text", "The log format: text or json."),
        VERBOSITY,
        VMODULE,
        FLUSHING,
        idle(
            "log-json-info-buffer-size",
            FlagKind.QUANTITY,
            "0",
            "Bytes of info messages that are buffered in JSON format.",
        ),
        idle("log-json-split-stream", B, False, "Write error messages to stderr and info messages to stdout."),
        idle(
            "log-text-info-buffer-size",
            FlagKind.QUANTITY,
            "0",
            "Bytes of info messages that are buffered in text format.",
        ),
        idle("log-text-split-stream", B, False, "Write error messages to stderr and info messages to stdout."),
    ),
    *GLOBAL,
)
