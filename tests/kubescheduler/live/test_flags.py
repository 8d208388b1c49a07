"""Command lines as pflag reads them."""

from __future__ import annotations

from typing import Any

import pytest

from kubescheduler.live.flags import Flag, FlagError, FlagKind, flag_lines, no_effect_notes, parse_flags, usage
from kubescheduler.live.release_flags import FLAGS_1_16, FLAGS_1_20, FLAGS_1_36
from kubescheduler.releases.lookup import live_release, recorded_processes

TABLES = {"1.16": FLAGS_1_16, "1.20": FLAGS_1_20, "1.36": FLAGS_1_36}
EVERY = pytest.mark.parametrize("release", list(TABLES))

READ: list[tuple[str, str, Any]] = [
    ("--config f.yaml", "config", "f.yaml"),
    ("--config=f.yaml", "config", "f.yaml"),
    ("--config=a=b", "config", "a=b"),
    ("--config=", "config", ""),
    ("--write_config_to=x", "write-config-to", "x"),
    ("--secure-port 0", "secure-port", 0),
    ("--secure-port=-1", "secure-port", -1),
    ("--kube-api-qps=0.5", "kube-api-qps", 0.5),
    ("--kube-api-burst=7", "kube-api-burst", 7),
    ("--leader-elect", "leader-elect", True),
    ("--leader-elect=false", "leader-elect", False),
    ("--leader-elect=F", "leader-elect", False),
    ("--leader-elect-lease-duration=1m30s", "leader-elect-lease-duration", 90_000_000_000),
    ("-v 4", "v", 4),
    ("-v=4", "v", 4),
    ("-v4", "v", 4),
    ("--v=4", "v", 4),
    ("--v=2 --v=5", "v", 5),
    ("--bind-address ::1", "bind-address", "::1"),
    ("--tls-cipher-suites A,B --tls-cipher-suites C", "tls-cipher-suites", ("A", "B", "C")),
    ("--requestheader-username-headers=X-User", "requestheader-username-headers", ("X-User",)),
    ("--tls-sni-cert-key a,b --tls-sni-cert-key c,d:*.e", "tls-sni-cert-key", ("a,b", "c,d:*.e")),
    ("--vmodule=scheduler=4,queue*=2", "vmodule", "scheduler=4,queue*=2"),
    ("--version", "version", "true"),
    ("--version=raw", "version", "raw"),
    ("-h", "help", True),
]  # fmt: skip


@EVERY
@pytest.mark.parametrize(("line", "name", "value"), READ, ids=[line for line, _, _ in READ])
def test_values(release: str, line: str, name: str, value: Any) -> None:
    """What a command line says of one flag."""
    values = parse_flags(TABLES[release], line.split())
    assert values[name] == value
    assert values.said(name) == value


FAULTS = [
    ("--nosuch", "unknown flag: --nosuch"),
    ("-q", "unknown shorthand flag: 'q' in -q"),
    ("--secure-port", "flag needs an argument: --secure-port"),
    ("-v", "flag needs an argument: 'v' in -v"),
    ("--v=a", 'invalid argument "a" for "-v, --v" flag: strconv.ParseUint: parsing "a": invalid syntax'),
    ("-v -1", 'invalid argument "-1" for "-v, --v" flag: strconv.ParseUint: parsing "-1": invalid syntax'),
    ("--secure-port=x", 'invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax'),
    ("--kube-api-burst=3000000000",
     'invalid argument "3000000000" for "--kube-api-burst" flag: strconv.ParseInt: parsing "3000000000": '
     "value out of range"),
    ("--leader-elect=maybe",
     'invalid argument "maybe" for "--leader-elect" flag: strconv.ParseBool: parsing "maybe": invalid syntax'),
    ("--kube-api-qps=a", 'invalid argument "a" for "--kube-api-qps" flag: strconv.ParseFloat: parsing "a": invalid'
     " syntax"),
    ("--leader-elect-lease-duration=5",
     'invalid argument "5" for "--leader-elect-lease-duration" flag: time: missing unit in duration "5"'),
    ("--bind-address=zz", 'invalid argument "zz" for "--bind-address" flag: failed to parse IP: "zz"'),
    ("--vmodule=a", 'invalid argument "a" for "--vmodule" flag: "a" does not have the pattern=N format'),
    ("--tls-sni-cert-key=a",
     'invalid argument "a" for "--tls-sni-cert-key" flag: expected comma separated certificate and key file paths'),
]  # fmt: skip


@EVERY
@pytest.mark.parametrize(("line", "text"), FAULTS, ids=[line for line, _ in FAULTS])
def test_faults(release: str, line: str, text: str) -> None:
    """The first fault ends it, in pflag's words."""
    with pytest.raises(FlagError) as caught:
        parse_flags(TABLES[release], line.split())
    assert str(caught.value) == text


@EVERY
def test_what_is_no_flag(release: str) -> None:
    """Words between flags, and all behind two dashes, are positional arguments."""
    values = parse_flags(TABLES[release], ["a", "--v=1", "-", "--", "--v=2", "b"])
    assert (values.arguments, values["v"]) == (("a", "-", "--v=2", "b"), 1)


def test_the_order_of_flags() -> None:
    """Two flags may write the same variable: the one that is given last stands last."""
    line = ["--lock-object-name=a", "--leader-elect-resource-name=b", "--lock-object-name=c"]
    assert parse_flags(FLAGS_1_16, line).given == ("leader-elect-resource-name", "lock-object-name")


GONE = {
    "1.16": "--show-hidden-metrics-for-version --logging-format --permit-port-sharing --disabled-metrics",
    "1.20": "--disabled-metrics --pod-max-in-unschedulable-pods-duration --permit-address-sharing",
    "1.36": "--algorithm-provider --policy-config-file --address --port --scheduler-name --lock-object-name --log-dir",
}


@EVERY
def test_flags_of_other_releases(release: str) -> None:
    """A release does not know what others have."""
    for flag in GONE[release].split():
        with pytest.raises(FlagError, match="unknown flag"):
            parse_flags(TABLES[release], [f"{flag}=x"])


def test_the_flags_of_1_36() -> None:
    """All of them with their defaults, as its log has them at verbosity 1."""
    lines = flag_lines(FLAGS_1_36, parse_flags(FLAGS_1_36, ["-v", "1"]))
    names = [line.partition("=")[0] for line in lines]
    assert names == sorted(names)
    for line in (
        'FLAG: --allow-metric-labels="[]"',
        'FLAG: --authorization-always-allow-paths="[/healthz,/readyz,/livez]"',
        *('FLAG: --bind-address="0.0.0.0"', 'FLAG: --contention-profiling="true"', 'FLAG: --feature-gates=""'),
        *('FLAG: --kube-api-qps="50"', 'FLAG: --leader-elect-lease-duration="15s"'),
        *('FLAG: --pod-max-in-unschedulable-pods-duration="5m0s"', 'FLAG: --requestheader-uid-headers="[]"'),
        *('FLAG: --tls-sni-cert-key="[]"', 'FLAG: --v="1"', 'FLAG: --version="false"'),
    ):
        assert line in lines


@EVERY
def test_flags_without_effect(release: str) -> None:
    """One note names all that are given."""
    table = TABLES[release]
    values = parse_flags(table, ["--vmodule=a=1", "--kube-api-content-type=x", "--v=1"])
    (note,) = no_effect_notes(table, values)
    assert sorted(note.split(" have ")[0].split(", ")) == ["--kube-api-content-type", "--vmodule"]
    assert no_effect_notes(table, parse_flags(table, ["--v=1"])) == []


@pytest.mark.parametrize("release", recorded_processes())
def test_help_fits_a_terminal(release: str) -> None:
    """No line is wider than 80 columns, and every flag has a line of its own."""
    flags = live_release(release).flags
    lines = usage(flags).splitlines()
    assert lines[:2] == ["Usage:", "  kube-scheduler [flags]"]
    assert all(flag.section for flag in flags)
    assert max(map(len, lines)) <= 80
    heads = [word for line in lines for word in line.split()[:2] if line.startswith("  ") and word.startswith("--")]
    assert sorted(heads) == sorted(f"--{flag.name}" for flag in flags)


def test_meanings_are_wrapped() -> None:
    """Below their flag, indented, with the default at the end."""
    flag = Flag("some-flag", FlagKind.INT, 7, "It " + "says " * 14 + "more.", section="Misc")
    first, second = f"          It {'says ' * 13}".rstrip(), "          says more. (default 7)"
    assert usage([flag]).endswith(f"      --some-flag int\n{first}\n{second}\n")
