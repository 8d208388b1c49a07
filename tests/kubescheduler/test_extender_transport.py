"""Answers as Go's HTTP client takes them: redirects, gzip, heads of any size, bodies that break off."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec
import pytest
import trustme

from clusterstate.errors import ConfigError
from clusterstate.objects import Node, ObjectMeta, Pod
from kubescheduler.extender.answers import CutShortError, ExtenderError
from kubescheduler.extender.client import HTTPExtender
from kubescheduler.extender.config import ExtenderConfig, TLSConfig
from kubescheduler.extender.transport import redirected, tls_context
from kubescheduler.extender.wire import WireFormat
from kubescheduler.releases.lookup import release_named
from tests.support.build import make_pod
from tests.support.custom.extender_process import extender

WIRE_1_4 = release_named("1.4").wire
WIRE_1_16 = release_named("1.16").wire

BODY = b'{"nodenames": [], "failedNodes": {"a": "full"}}'
PACKED = gzip.compress(BODY, mtime=0)
DEEP = b'{"x": ' + b"[" * 9000 + b"]" * 9000 + b', "failedNodes": {"a": "full"}}'


def answer(body: bytes = BODY, headers: bytes = b"", *, status: bytes = b"200 OK", longer: int = 0) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n%b\r\n%b" % (status, len(body) + longer, headers, body)


@contextmanager
def answering(answers: Sequence[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives each call the next answer and hangs up; its address, and the requests."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for each in answers:
                connection, _ = listening.accept()
                with connection, connection.makefile("rb") as reading:
                    head = b"".join(iter(reading.readline, b"\r\n"))
                    length = [line for line in head.splitlines() if line.lower().startswith(b"content-length:")]
                    requests.append(head + reading.read(int(length[0].split()[1]) if length else 0))
                    connection.sendall(each)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requests
        thread.join(20)


def failed(answers: Sequence[bytes], wire: WireFormat = WIRE_1_16) -> tuple[dict[str, str], list[bytes]]:
    """The messages of a filter call, and the requests."""
    with answering(answers) as (url, requests):
        config = ExtenderConfig(url, filter_verb="f")
        return dict(HTTPExtender(config, wire).filter(make_pod("web"), []).failed), requests


TAKEN: dict[str, bytes] = {
    "gzip": answer(PACKED, b"Content-Encoding: gzip\r\n"),
    "GZIP of two members": answer(gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), b"Content-Encoding: GZIP\r\n"),
    "processing": b"HTTP/1.1 102 Processing\r\n\r\n" + answer(),
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" * 5 + answer(),
    "many headers": answer(headers=b"".join(b"X%d: a\r\n" % number for number in range(500))),
    "a long header": answer(headers=b"X: " + b"x" * 100_000 + b"\r\n"),
    "a folded header": answer(headers=b"X: a\r\n b\r\n"),
    "a body cut short": answer(longer=50),
    "packed and cut short": answer(PACKED[:-4], b"Content-Encoding: gzip\r\n"),
    "deep unknown members": answer(DEEP),
}


@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
def test_what_go_takes(given: bytes) -> None:
    """Is an answer here too."""
    assert failed([given])[0] == {"a": "full"}


REFUSED: dict[str, tuple[bytes, str]] = {
    "a header without a colon": (answer(headers=b"garbage\r\n"), "malformed MIME header line: garbage"),
    "a head that goes on": (answer(headers=b"X: " + b"x" * 11_000_000 + b"\r\n"), "headers exceeded"),
    "a first line that is folded": (b"HTTP/1.1 200 OK\r\n X: a\r\n\r\n", "malformed MIME header initial line"),
    "hints without end": (
        (b"HTTP/1.1 103 E\r\nX: " + b"x" * 99_000 + b"\r\n\r\n") * 110 + answer(),
        "headers exceeded",
    ),
    **{
        f"length {length}": (
            b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\n[]" % length.encode(),
            f'transport connection broken: bad Content-Length "{length}"',
        )
        for length in ("-5", "abc", "1e3", "9" * 30)
    },
    "two lengths": (answer(headers=b"Content-Length: 5\r\n"), "Content-Length contained multiple"),
    "another coding": (answer(headers=b"Transfer-Encoding: gzip\r\n"), "unsupported transfer encoding"),
    "a control character": (answer(headers=b"X: a\x01\r\n"), "malformed MIME header line"),
    "a header without a name": (answer(headers=b": a\r\n"), "malformed MIME header line"),
    "no gzip": (answer(headers=b"Content-Encoding: gzip\r\n"), "gzip"),
    "cut within the value": (answer(BODY[:-1], longer=9), "unexpected EOF"),
    "too deep": (answer(b'{"x":' + b"[" * 10_001 + b"]" * 10_001 + b"}"), "exceeded max depth"),
}


@pytest.mark.parametrize(("given", "fault"), REFUSED.values(), ids=REFUSED)
def test_what_go_refuses(given: bytes, fault: str) -> None:
    """Is an error here too."""
    with pytest.raises(ExtenderError, match=fault):
        failed([given])


def test_the_oldest_release_reads_to_the_end() -> None:
    """1.4 reads a body whole before it decodes it."""
    with pytest.raises(CutShortError):
        failed([answer(longer=50)], WIRE_1_4)


def test_half_surrogates_are_replaced() -> None:
    """As Go's decoder does; pairs and texts that look like escapes stay."""
    body = rb'{"failedNodes": {"a": "x\ud800y\udc00", "b": "\ud83d\ude00", "c": "\\ud800"}}'
    assert failed([answer(body)])[0] == {"a": "x\ufffdy\ufffd", "b": "\U0001f600", "c": r"\ud800"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects(status: int) -> None:
    """307 and 308 send the same again, the others ask with GET."""
    moved = answer(b"", b"Location: /there\r\n", status=b"%d Moved" % status)
    found, (first, second) = failed([moved, answer()])
    assert found == {"a": "full"}
    if status in (307, 308):
        assert second == first.replace(b"POST /f ", b"POST /there ")
    else:
        assert second.startswith(b"GET /there ")
        assert b"content-length" not in second.lower()


def test_redirects_that_lead_nowhere() -> None:
    """Ten are followed; one without an address is the answer."""
    loop = answer(b"", b"Location: /f\r\n", status=b"307 Moved")
    with pytest.raises(ExtenderError, match="stopped after 10 redirects"):
        failed([loop] * 10)
    with pytest.raises(ExtenderError, match="code 302"):
        failed([answer(status=b"302 Found")])


TARGETS: dict[str, tuple[int, str, str | None]] = {
    "within the host": (307, "/b", "http://u:p@h:1/b"),
    "the same host": (308, "http://h:1/b", "http://u:p@h:1/b"),
    "another": (307, "https://g/b", "https://g/b"),
    "no redirect": (300, "/b", None),
    "no address": (307, "", None),
}


@pytest.mark.parametrize(("status", "location", "target"), TARGETS.values(), ids=TARGETS)
def test_where_redirects_lead(status: int, location: str, target: str | None) -> None:
    """User and password are told to the same host only."""
    assert redirected(status, location, "http://u:p@h:1/a") == target


POD = Pod(ObjectMeta("p"), manifest={"metadata": {"name": "p"}})
NODE = Node(ObjectMeta("n0"), manifest={"metadata": {"name": "n0"}})


@attrs.frozen
class Authority:
    """Certificates as files and bytes, and the address of an extender that uses them."""

    folder: Path
    ca: bytes
    cert: bytes
    key: bytes
    url: str
    strict_url: str

    def path(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    folder = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    ca.issue_cert("extender.example").private_key_and_cert_chain_pem.write_to_path(folder / "named.pem")
    client = ca.issue_cert("scheduler.example")
    client.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    client.private_key_pem.write_to_path(folder / "key.pem")
    ca_bytes, cert, key = ((folder / name).read_bytes() for name in ("ca.pem", "cert.pem", "key.pem"))
    with extender(folder / "server.pem") as url, extender(folder / "named.pem", folder / "ca.pem") as strict_url:
        yield Authority(folder, ca_bytes, cert, key, url, strict_url)


def names(url: str, tls: TLSConfig, enable_https: bool = False) -> tuple[str, ...]:
    """What a good extender keeps of one node."""
    asked = HTTPExtender(ExtenderConfig(f"{url}/good", "filter", tls=tls, enable_https=enable_https), WIRE_1_16)
    try:
        return asked.filter(POD, [NODE]).nodes
    finally:
        asked.close()


def test_authority(authority: Authority) -> None:
    """A certificate counts when the configured authority, file or data, has signed it."""
    assert names(authority.url, TLSConfig(ca_file=authority.path("ca.pem"))) == ("n0",)
    assert names(authority.url, TLSConfig(ca_data=authority.ca), enable_https=True) == ("n0",)
    other = TLSConfig(ca_data=trustme.CA().cert_pem.bytes())
    with pytest.raises(ExtenderError, match="certificate not accepted: "):
        names(authority.url, other, enable_https=True)


def test_no_authority(authority: Authority) -> None:
    """Without an authority the system's count, unless enableHttps or insecure turns verification off."""
    with pytest.raises(ExtenderError, match="certificate not accepted: "):
        names(authority.url, TLSConfig())
    assert names(authority.url, TLSConfig(), enable_https=True) == ("n0",)
    assert names(authority.url, TLSConfig(insecure=True)) == ("n0",)


def test_server_name_and_client_certificate(authority: Authority) -> None:
    """serverName is what the certificate must name; the client's certificate is shown to who asks for it."""
    files = TLSConfig(
        server_name="extender.example",
        ca_data=authority.ca,
        cert_file=authority.path("cert.pem"),
        key_file=authority.path("key.pem"),
    )
    data = msgspec.structs.replace(files, cert_file="", key_file="", cert_data=authority.cert, key_data=authority.key)
    assert names(authority.strict_url, files) == ("n0",)
    assert names(authority.strict_url, data) == ("n0",)
    with pytest.raises(ExtenderError, match="certificate not accepted: "):
        names(authority.strict_url, msgspec.structs.replace(files, server_name=""))
    with pytest.raises(ExtenderError, match=r'^Post "https://'):
        names(authority.strict_url, msgspec.structs.replace(files, cert_file=""))


@pytest.mark.parametrize(
    ("tls", "text"),
    [
        (TLSConfig(ca_file="/no/such/ca"), r"tlsConfig: caFile /no/such/ca: No such file"),
        (TLSConfig(ca_data=b"nonsense"), r"tlsConfig: caData: .*; a PEM certificate is needed"),
        (TLSConfig(ca_data=b"\xff"), r"tlsConfig: caData: "),
        (TLSConfig(insecure=True, ca_data=b"x"), r"cannot be used together with insecure"),
        (TLSConfig(insecure=True, cert_data=b"x", key_data=b"y"), r"tlsConfig: certFile/certData with keyFile/keyData"),
        (TLSConfig(insecure=True, cert_file="/no/c", key_file="/no/k"), r"No such file"),
    ],
    ids=["no-file", "no-pem", "no-ascii", "insecure", "bad-client", "no-client"],
)
def test_bad_settings(tls: TLSConfig, text: str) -> None:
    """Unusable settings say which; a call reports them as an extender error."""
    config = ExtenderConfig("https://127.0.0.1:1", "filter", tls=tls)
    with pytest.raises(ConfigError, match=text):
        tls_context(config)
    with pytest.raises(ExtenderError, match=text):
        HTTPExtender(config, WIRE_1_16).filter(POD, [NODE])


def test_plain_caller_of_a_tls_port(authority: Authority) -> None:
    """http where https is spoken is an error, not a hang; enableHttps does not change the scheme."""
    with pytest.raises(ExtenderError, match=r'^Post "http://'):
        names(authority.url.replace("https", "http"), TLSConfig(), enable_https=True)
