"""What flags say of the servers, and what those of each release answer to whom, over real connections."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from clusterstate.errors import ConfigError
from kubescheduler.live.flags import parse_flags
from kubescheduler.live.serving.client_trust import TrustSettings
from kubescheduler.live.serving.http_answers import NO_STATUS
from kubescheduler.live.serving.scheduler_servers import (
    InsecurePort,
    ServingSettings,
    insecure_ports,
    port_problems,
    serving_settings,
)
from kubescheduler.live.serving.tls import CertificateFiles
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import ApiServer
from tests.support.apiserver.real_server import free_ports
from tests.support.live.serving import TOKENS, Health, ServedScheduler, asking, kubeconfig, serving


def read(release: str, *flags: str) -> ServingSettings:
    table = live_release(release).flags
    return serving_settings(table, parse_flags(table, flags), {}, (), profiling=True)


def test_defaults() -> None:
    """Of each release, the secure port and what needs no rights."""
    for release, allowed in {
        "1.16": ("/healthz",),
        "1.20": ("/healthz",),
        "1.36": ("/healthz", "/readyz", "/livez"),
    }.items():
        found = read(release)
        assert (found.address, found.port, found.tls.files) == ("0.0.0.0", 10259, None)
        access = found.access
        assert (access.token_seconds, access.allowed_seconds, access.denied_seconds) == (10.0, 10.0, 10.0)
        assert access.always_allowed == allowed
        assert access.trust.proxies.username_headers == ("x-remote-user",)
        assert access.trust.tolerates_failure


def test_flags_as_texts() -> None:
    """/flagz shows each flag as pflag prints it."""
    flags = read("1.36", "--feature-gates=B=true,A=false", "--tls-sni-cert-key=a,b:c", "--kube-api-qps=2.5").flags
    expected = {
        "authorization-always-allow-paths": "[/healthz,/readyz,/livez]",
        "authentication-token-webhook-cache-ttl": "10s",
        "leader-elect": "true",
        "feature-gates": "B=true,A=false",
        "tls-sni-cert-key": "[a,b:c]",
        "tls-cipher-suites": "[]",
        "kube-api-qps": "2.5",
        "kube-api-burst": "100",
        "secure-port": "10259",
        "cert-dir": "",
    }
    assert {name: flags[name] for name in expected} == expected


def test_tls() -> None:
    """Files, hosts, versions and ciphers, in OpenSSL's terms."""
    found = read(
        "1.36",
        *("--tls-cert-file=c", "--tls-private-key-file=k", "--tls-min-version=VersionTLS13", "--cert-dir=d"),
        *("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256", "--secure-port=1"),
        *("--tls-sni-cert-key=a.crt,a.key", "--tls-sni-cert-key=b.crt,b.key:*.b.example,b.example"),
    ).tls
    assert found.files == CertificateFiles("c", "k")
    assert (found.folder, found.least, found.ciphers) == ("d", ssl.TLSVersion.TLSv1_3, "ECDHE-RSA-AES128-GCM-SHA256")
    assert found.named == (
        CertificateFiles("a.crt", "a.key"),
        CertificateFiles("b.crt", "b.key", ("*.b.example", "b.example")),
    )


HIGH = "--secure-port 70000 must be between 1 and 65535, inclusive. It cannot be turned off with 0"
PORT = "--port 70000 must be between 0 and 65535, inclusive. 0 for turning off insecure (HTTP) port"


@pytest.mark.parametrize(
    ("flags", "problems"),
    [(["--secure-port=70000", "--port=70000"], [HIGH, PORT]), (["--secure-port=65535", "--port=0"], [])],
)
def test_port_problems(flags: Sequence[str], problems: list[str]) -> None:
    """Ports have a range; the text for one that is too high is upstream's, though 0 does turn it off."""
    assert port_problems(parse_flags(live_release("1.16").flags, flags)) == problems


@pytest.mark.parametrize(
    ("release", "flags", "problems"),
    [
        ("1.36", ["--tls-min-version=x"], ['unknown tls version "x"']),
        ("1.36", ["--tls-cipher-suites=x"], ["Cipher suite x not supported or doesn't exist"]),
        ("1.36", ["--tls-sni-cert-key=a,b,c"], ["expected comma separated certificate and key file paths"]),
    ],
)
def test_problems(release: str, flags: Sequence[str], problems: list[str]) -> None:
    """Texts are upstream's."""
    with pytest.raises(ConfigError) as raised:
        read(release, *flags)
    assert list(raised.value.problems) == problems


@pytest.mark.parametrize(
    ("health", "metrics", "ports"),
    [
        ("0.0.0.0:10251", "0.0.0.0:10251", [InsecurePort("0.0.0.0", 10251)]),
        ("[::1]:1", "[::1]:1", [InsecurePort("::1", 1)]),
        (":1", ":1", [InsecurePort("0.0.0.0", 1)]),
        ("", "", []),
        ("0.0.0.0:0", "0.0.0.0:0", []),
        (
            "127.0.0.1:1",
            "127.0.0.1:2",
            [InsecurePort("127.0.0.1", 1, metrics=False), InsecurePort("127.0.0.1", 2, health=False)],
        ),
        ("127.0.0.1:1", "", [InsecurePort("127.0.0.1", 1, metrics=False)]),
    ],
)
def test_insecure_addresses(health: str, metrics: str, ports: list[InsecurePort]) -> None:
    """One address serves both; port 0 serves nothing."""
    assert list(insecure_ports(health, metrics)) == ports


@pytest.mark.parametrize("text", ["x", "1.2.3.4", "host:1", "1.2.3.4:x"])
def test_bad_addresses(text: str) -> None:
    """An address has an IP and a port."""
    with pytest.raises(ConfigError):
        insecure_ports(text, text)


Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
MISSING = "404 page not found\n"
VERSIONED = "text/plain; version=0.0.4; charset=utf-8"
READY = "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\n"
UNAUTHORIZED = (
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized",'
    '"reason":"Unauthorized","code":401}\n'
)


def forbidden(user: str, path: str, verb: str = "get") -> str:
    said = f'forbidden: User \\"{user}\\" cannot {verb} path \\"{path}\\"'
    return (
        f'{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{said}",'
        '"reason":"Forbidden","details":{},"code":403}\n'
    )


@pytest.fixture
def known(server: ApiServer) -> ApiServer:
    """An API server that knows an administrator, and somebody without rights."""
    server.tokens.update(TOKENS)
    return server


CASES_1_36 = [
    # method, path, token, code, content type, body
    ("GET", "/healthz", "", 200, TEXT, "ok"),
    ("POST", "/healthz", "", 200, TEXT, "ok"),
    ("GET", "/healthz?verbose", "", 200, TEXT, "[+]leaderElection ok\nhealthz check passed\n"),
    ("GET", "/livez?verbose", "", 200, TEXT, "[+]ping ok\nlivez check passed\n"),
    ("GET", "/readyz?verbose", "", 200, TEXT, READY + "readyz check passed\n"),
    ("GET", "/readyz?exclude=shutdown", "", 200, TEXT, "ok"),
    (
        *("GET", "/readyz?verbose&exclude=shutdown", "", 200, TEXT),
        READY.replace("shutdown ok", "shutdown excluded: ok") + "readyz check passed\n",
    ),
    (
        *("GET", "/readyz?verbose&exclude=x", "", 200, TEXT),
        READY + 'warn: some health checks cannot be excluded: no matches for "x"\nreadyz check passed\n',
    ),
    ("GET", "/healthz", "nobody-token", 200, TEXT, "ok"),
    ("GET", "/healthz", "wrong", 401, JSON, UNAUTHORIZED),
    ("GET", "/metrics", "wrong", 401, JSON, UNAUTHORIZED),
    ("GET", "/metrics", "", 403, JSON, forbidden("system:anonymous", "/metrics")),
    ("GET", "/metrics", "nobody-token", 403, JSON, forbidden("nobody", "/metrics")),
    ("DELETE", "/metrics", "nobody-token", 403, JSON, forbidden("nobody", "/metrics", "delete")),
    ("GET", "/healthz/leaderElection", "", 403, JSON, forbidden("system:anonymous", "/healthz/leaderElection")),
    ("GET", "/api/v1/pods", "nobody-token", 403, JSON, forbidden("nobody", "/api/v1/pods")),
    ("GET", "/healthz/leaderElection", "admin-token", 200, TEXT, "ok"),
    ("GET", "/healthz/ping", "admin-token", 404, TEXT, MISSING),
    ("GET", "/livez/ping", "admin-token", 200, TEXT, "ok"),
    ("GET", "/readyz/sched-handler-sync", "admin-token", 200, TEXT, "ok"),
    ("GET", "/healthz/", "admin-token", 404, TEXT, MISSING),
    ("GET", "/nosuch", "admin-token", 404, TEXT, MISSING),
    ("GET", "/", "admin-token", 404, TEXT, MISSING),
    ("GET", "/api/v1/pods", "admin-token", 404, TEXT, MISSING),
    ("GET", "/version", "admin-token", 404, TEXT, MISSING),
    (
        *("GET", "/metrics", "admin-token", 200, VERSIONED + "; escaping=underscores"),
        "# TYPE answer gauge\nanswer 42\n",
    ),
    ("GET", "/metrics/slis", "admin-token", 200, VERSIONED + "; escaping=underscores", "slis 1\n"),
    ("GET", "/metrics/resources", "admin-token", 200, VERSIONED + "; escaping=underscores", ""),
    ("DELETE", "/metrics", "admin-token", 200, TEXT, "metrics reset\n"),
    ("GET", "/debug/flags/v", "admin-token", 406, "text/plain", "unsupported http method\n"),
    ("PUT", "/debug/flags/v", "admin-token", 400, "text/plain", 'strconv.ParseUint: parsing "": invalid syntax\n'),
    ("GET", "/debug/pprof/nosuch", "admin-token", 404, TEXT, "Unknown profile\n"),
    ("GET", "/debug/pprof", "admin-token", 302, "text/html; charset=utf-8", '<a href="/debug/pprof/">Found</a>.\n\n'),
    ("GET", "/debug/pprof/", "admin-token", 200, "text/html; charset=utf-8", None),
    ("GET", "/debug/pprof/goroutine", "admin-token", 200, TEXT, None),
    ("GET", "/configz", "admin-token", 200, JSON, None),
    ("GET", "/statusz", "admin-token", 200, TEXT, None),
    ("GET", "/flagz", "admin-token", 200, TEXT, None),
]

CASES_1_20 = [
    ("GET", "/healthz?verbose", "", 200, TEXT, "[+]leaderElection ok\nhealthz check passed\n"),
    ("GET", "/livez", "", 403, JSON, forbidden("system:anonymous", "/livez")),
    ("GET", "/readyz", "admin-token", 404, TEXT, MISSING),
    ("GET", "/statusz", "admin-token", 404, TEXT, MISSING),
    ("GET", "/flagz", "admin-token", 404, TEXT, MISSING),
    ("GET", "/metrics", "admin-token", 200, VERSIONED, "# TYPE answer gauge\nanswer 42\n"),
    ("GET", "/metrics/resources", "admin-token", 200, VERSIONED, ""),
    ("GET", "/metrics/slis", "admin-token", 404, TEXT, MISSING),
    ("GET", "/metrics", "wrong", 401, JSON, UNAUTHORIZED),
    ("GET", "/debug/flags/v", "admin-token", 406, "text/plain", "unsupported http method\n"),
]

CASES_1_16 = [
    ("GET", "/healthz", "", 200, TEXT, "ok"),
    ("GET", "/healthz", "wrong", 401, "text/plain", NO_STATUS),
    ("GET", "/metrics", "", 403, "text/plain", NO_STATUS),
    ("GET", "/livez", "nobody-token", 403, "text/plain", NO_STATUS),
    ("GET", "/livez", "admin-token", 404, TEXT, MISSING),
    ("GET", "/metrics", "admin-token", 200, VERSIONED, "# TYPE answer gauge\nanswer 42\n"),
    ("GET", "/metrics/resources", "admin-token", 404, TEXT, MISSING),
    ("GET", "/debug/flags/v", "admin-token", 404, TEXT, MISSING),
]

Case = tuple[str, str, str, int, str, str | None]
TABLES: Mapping[str, Sequence[Case]] = {"1.16": CASES_1_16, "1.20": CASES_1_20, "1.36": CASES_1_36}


@pytest.mark.parametrize("release", list(TABLES))
def test_answers(io: IoThread, known: ApiServer, tmp_path: Path, release: str) -> None:
    """Code, content type and body of each request are upstream's, and no answer may be cached."""
    paths = ("/healthz", "/readyz", "/livez") if release == "1.36" else ("/healthz",)
    settings = asking(kubeconfig(tmp_path, known.url), always_allowed=paths)
    with serving(io, release, settings) as served:
        for method, path, token, code, content_type, body in TABLES[release]:
            got = served.ask(path, method=method, token=token)
            said = (got.code, got.content_type, got.body if body is not None else None)
            assert said == (code, content_type, body), (method, path, token)
            assert got.headers["cache-control"] == "no-cache, private"
            assert "server" not in got.headers
        assert served.resets == (1 if release == "1.36" else 0)


@pytest.fixture
def served(io: IoThread, known: ApiServer, tmp_path: Path) -> Iterator[ServedScheduler]:
    """1.36 beside the API server."""
    with serving(io, "1.36", asking(kubeconfig(tmp_path, known.url))) as found:
        yield found


@pytest.mark.parametrize(
    ("fault", "path", "check", "line", "text"),
    [
        pytest.param(
            "overdue", "healthz", "leaderElection", 0, "failed election to renew leadership on lease kube-scheduler"
        ),
        pytest.param(
            "overdue", "readyz", "leaderElection", 0, "failed election to renew leadership on lease kube-scheduler"
        ),
        pytest.param("stopping", "readyz", "shutdown", 1, "process is shutting down"),
        pytest.param("unread", "readyz", "sched-handler-sync", 2, "handlers are not fully synchronized"),
    ],
)
def test_failing_checks(served: ServedScheduler, fault: str, path: str, check: str, line: int, text: str) -> None:
    """A check that fails is named, with its reason only to who may ask for it alone; whoever excludes it gets 200."""
    served.health = Health(fault == "overdue", fault == "stopping", fault != "unread")
    got = served.ask(f"/{path}")
    lines = got.body.splitlines()
    assert (got.code, lines[line], lines[-1]) == (*(500, f"[-]{check} failed: reason withheld"), f"{path} check failed")
    alone = served.ask(f"/{path}/{check}", token="admin-token")
    assert (alone.code, alone.body) == (500, f"internal server error: {text}\n")
    assert served.ask(f"/{path}?exclude={check}").code == 200
    assert served.ask("/livez").code == 200


def test_without_election(io: IoThread, known: ApiServer, tmp_path: Path) -> None:
    """A scheduler that does not seek leadership is healthy when it answers."""
    with serving(io, "1.36", asking(kubeconfig(tmp_path, known.url)), elects=False) as served:
        assert served.ask("/healthz?verbose").body == "[+]ping ok\nhealthz check passed\n"
        expected = "[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n"
        assert served.ask("/readyz?verbose").body == expected


def test_headers(served: ServedScheduler) -> None:
    """Texts and refusals are not to be guessed at; metrics say since when they count, compressed to who wants that."""
    for path in ("/healthz", "/metrics", "/nosuch"):
        assert served.ask(path).headers["x-content-type-options"] == "nosniff"
    assert "x-content-type-options" not in served.ask("/healthz", token="wrong").headers
    metrics = served.ask("/metrics", token="admin-token").headers
    assert metrics["process-start-time-unix"].isdecimal()
    assert "content-encoding" not in metrics
    head = served.ask("/metrics", method="HEAD", token="admin-token", headers={"Accept-Encoding": "gzip"})
    assert head.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("header", "code"),
    [
        pytest.param("Bearer admin-token", 200, id="bearer"),
        pytest.param("bearer admin-token more", 200, id="case and rest do not count"),
        pytest.param("Basic eHg6eHg=", 403, id="basic is no credential"),
        pytest.param("Bearer", 403, id="no token"),
        pytest.param("Bearer wrong", 401, id="wrong token"),
    ],
)
def test_authorization_header(served: ServedScheduler, header: str, code: int) -> None:
    """Only a bearer token is looked at; what is none is anonymous."""
    assert served.ask("/metrics", headers={"Authorization": header}).code == code


def test_people_get_lines(served: ServedScheduler) -> None:
    """JSON is laid out for browsers and command lines, and for who asks for that."""
    for got in (served.ask("/metrics", headers={"User-Agent": "curl/8"}), served.ask("/metrics?pretty=true")):
        assert got.body.startswith('{\n  "kind": "Status",\n')
        assert json.loads(got.body)["code"] == 403
    assert "\n  " not in served.ask("/metrics?pretty=0", headers={"User-Agent": "curl/8"}).body


def test_verbosity(served: ServedScheduler) -> None:
    """A verbosity that is set has requests logged from 3 on."""
    served.ask("/livez")
    assert not [line for line in served.log if '"HTTP"' in line]
    got = served.ask("/debug/flags/v", method="PUT", body="3", token="admin-token")
    assert (got.code, got.body) == (200, "successfully set klog.logging.verbosity to 3\n")
    served.ask("/livez?verbose", headers={"User-Agent": 'a "b"'})
    line = next(line for line in served.log if "/livez" in line)
    assert line.startswith('I "HTTP" verb="GET" URI="/livez?verbose" latency="')
    assert line.endswith('userAgent="a \\"b\\"" srcIP="127.0.0.1" resp=200')
    bad = served.ask("/debug/flags/v", method="PUT", body="-1", token="admin-token")
    assert (bad.code, bad.body) == (400, 'strconv.ParseUint: parsing "-1": invalid syntax\n')


def test_configz(io: IoThread, known: ApiServer, tmp_path: Path) -> None:
    """1.36 shows its file's type, the releases before it the fields of Go's types."""
    shown = {}
    for release in ("1.16", "1.36"):
        with serving(io, release, asking(kubeconfig(tmp_path, known.url))) as served:
            shown[release] = json.loads(served.ask("/configz", token="admin-token").body)["componentconfig"]
    assert list(shown["1.36"])[:3] == ["kind", "apiVersion", "parallelism"]
    assert shown["1.16"]["AlgorithmSource"] == {"Policy": None, "Provider": "DefaultProvider"}
    assert shown["1.16"]["LeaderElection"] == {"LeaderElect": True}


def test_stacks(served: ServedScheduler) -> None:
    """The one profile there is shows what the I/O thread does."""
    body = served.ask("/debug/pprof/goroutine", token="admin-token").body
    assert "thread io:\n" in body
    assert "task " in body


def test_no_profiling(io: IoThread, known: ApiServer, tmp_path: Path) -> None:
    """Without profiling there is nothing below /debug."""
    settings = msgspec.structs.replace(asking(kubeconfig(tmp_path, known.url)), profiling=False)
    with serving(io, "1.36", settings) as served:
        for path in ("/debug/pprof/", "/debug/pprof/goroutine", "/debug/flags/v"):
            assert served.ask(path, token="admin-token").code == 404


# --- whom nobody can ask -------------------------------------------------------------------------------


def test_without_kubeconfigs(io: IoThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can be asked, tokens are passed over, and everything but health is forbidden."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with serving(io, "1.36", asking("")) as served:
        assert served.ask("/healthz", token="wrong").code == 200
        assert served.ask("/metrics", token="admin-token").body == forbidden("system:anonymous", "/metrics")
    place = "in configmap/extension-apiserver-authentication in kube-system"
    assert [line for line in served.log if "No auth" in line] == [
        f"W No authentication-kubeconfig provided in order to lookup client-ca-file {place}, "
        "so client certificate authentication won't work.",
        f"W No authentication-kubeconfig provided in order to lookup requestheader-client-ca-file {place}, "
        "so request-header client certificate authentication won't work.",
        "W No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens won't work.",
    ]


def refuse(code: int, reason: str, *paths: str) -> Fault:
    """Answers requests whose path has one of these in it with an error."""

    async def answer(request: web.Request) -> web.Response | None:
        if not any(path in request.path for path in paths):
            return None
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": reason}
        return web.json_response({**status, "code": code}, status=code)

    return answer


def test_lookup_fails(io: IoThread, known: ApiServer, tmp_path: Path) -> None:
    """A ConfigMap that may not be read is tolerated with warnings, unless a flag says otherwise."""
    known.faults.append(refuse(403, "Forbidden", "configmaps"))
    settings = asking(kubeconfig(tmp_path, known.url))
    with serving(io, "1.16", settings) as served:
        assert served.ask("/healthz").code == 200
    lines = [line for line in served.log if "onfig" in line]
    assert lines[0].startswith("W Unable to get configmap/extension-apiserver-authentication in kube-system.  Usually")
    assert lines[1:] == [
        "W Error looking up in-cluster authentication configuration: no",
        "W Continuing without authentication configuration. This may treat all requests as anonymous.",
        "W To require authentication configuration lookup to succeed, "
        "set --authentication-tolerate-lookup-failure=false",
    ]
    strict = asking(kubeconfig(tmp_path, known.url), trust=TrustSettings(tolerates_failure=False))
    text = "unable to load configmap based request-header-client-ca-file: no"
    with pytest.raises(ConfigError, match=text), serving(io, "1.16", strict):
        pass


def test_reviews_fail(io: IoThread, known: ApiServer, tmp_path: Path) -> None:
    """Who nobody can judge is answered with 500, or 401 where it is about the token."""
    known.faults.append(refuse(403, "Forbidden", "subjectaccessreviews"))
    with serving(io, "1.36", asking(kubeconfig(tmp_path, known.url))) as served:
        got = served.ask("/metrics?a=<b>&c")
        expected = 'Internal Server Error: "/metrics?a=&lt;b&gt;&amp;c": no\n'
        assert (got.code, got.content_type, got.body) == (500, TEXT, expected)
        known.faults.append(refuse(403, "Forbidden", "tokenreviews"))
        assert served.ask("/healthz", token="nobody-token").code == 401
        known.faults.clear()
        assert served.ask("/metrics", token="nobody-token").code == 403
    assert 'E "Unable to authenticate the request" err="no"' in served.log


# --- ports ---------------------------------------------------------------------------------------------


def test_insecure_ports(io: IoThread, known: ApiServer, tmp_path: Path) -> None:
    """Without TLS everybody may ask for everything; health and metrics may be on ports of their own."""
    health, metrics = free_ports(2)
    ports = (InsecurePort("127.0.0.1", health, metrics=False), InsecurePort("127.0.0.1", metrics, health=False))
    settings = msgspec.structs.replace(asking(kubeconfig(tmp_path, known.url)), port=0, insecure=ports)
    with serving(io, "1.20", settings) as served:
        assert [served.ask(path, port=health).code for path in ("/healthz", "/metrics")] == [200, 404]
        assert [served.ask(path, port=metrics).code for path in ("/healthz", "/metrics", "/configz")] == [404, 200, 200]
    assert served.log[0] == f"I Serving healthz insecurely on 127.0.0.1:{health}"
    assert not [one for one in known.asked if "reviews" in one.path]


def test_a_port_that_is_taken(io: IoThread, tmp_path: Path) -> None:
    """Somebody else's port is a fault in Go's words."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = msgspec.structs.replace(asking(""), port=port)
        text = f"failed to listen on 127.0.0.1:{port}: listen tcp 127.0.0.1:{port}: bind: address already in use$"
        with pytest.raises(ConfigError, match=text), serving(io, "1.36", settings):
            pass
