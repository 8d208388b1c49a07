"""All flags of each release's kube-scheduler."""

from __future__ import annotations

from kubescheduler.live.flags.flag_kinds import FlagKind
from kubescheduler.live.flags.flag_parsing import Flag
from kubescheduler.live.flags.flag_tables import (
    AUTHENTICATION,
    FLUSHING,
    GLOBAL,
    INSECURE,
    LEGACY,
    LOG_FILES,
    MISC,
    SECOND,
    SERVING,
    VERBOSITY,
    VMODULE,
    B,
    D,
    P,
    S,
    T,
    authorization,
    connection,
    election,
    idle,
    old,
    section,
)

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
