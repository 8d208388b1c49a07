"""What the lab's server refuses: requests that do not come from its own page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kubescheduler.lab.lab_application import AllowedHosts
from tests.support.pages.lab_server import TOKEN, LabServer, lab_server


@pytest.fixture(scope="module")
def server() -> Iterator[LabServer]:
    with lab_server({"echo": lambda _, asked: {"asked": asked}}) as running:
        yield running


def question(server: LabServer, headers: Mapping[str, str | None]) -> int:
    return server.send("POST", "/api/open", b'{"from": "start"}', headers).status


FOREIGN: dict[str, dict[str, str | None]] = {
    "a foreign origin": {"Origin": "http://evil.example"},
    "a null origin": {"Origin": "null"},
    "an origin of another port": {"Origin": "http://127.0.0.1:1"},
    "a name that resolves to this machine": {"Host": "evil.example"},
    "another port's host": {"Host": "127.0.0.1:1"},
    "an address beyond the loopback interface": {"Host": "192.168.0.7:{port}"},
    "no token": {"X-Lab-Token": None},
    "an empty token": {"X-Lab-Token": ""},
    "a wrong token": {"X-Lab-Token": TOKEN + "x"},
    "another site, as the browser says": {"Sec-Fetch-Site": "cross-site"},
    "a page of another port, as the browser says": {"Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_requests_are_refused(server: LabServer, headers: dict[str, str | None]) -> None:
    """Each is refused without a word on why, or what is there."""
    filled = {name: value and value.format(port=server.port) for name, value in headers.items()}
    answer = server.send("POST", "/api/open", b'{"from": "start"}', filled)
    assert answer.status == 403
    assert b"tab" not in answer.body


OWN: dict[str, dict[str, str | None]] = {
    "no browser": {},
    "the page's origin": {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"},
    "localhost": {"Host": "localhost:{port}", "Origin": "http://localhost:{port}"},
    "IPv6": {"Host": "[::1]:{port}"},
}


@pytest.mark.parametrize("headers", OWN.values(), ids=OWN.keys())
def test_own_requests_are_answered(server: LabServer, headers: dict[str, str | None]) -> None:
    """The page may ask, by any name of the loopback interface."""
    assert question(server, {name: value and value.format(port=server.port) for name, value in headers.items()}) == 200


def test_a_request_without_a_host_is_refused(server: LabServer) -> None:
    """By the protocol itself."""
    assert server.send("GET", "/", headers={"Host": None}).status == 400


def test_the_token_is_not_taken_from_a_questions_address(server: LabServer) -> None:
    """A link or a form of another page cannot bring it along where a header is asked for."""
    assert server.send("POST", f"/api/open?token={TOKEN}", b"{}", {"X-Lab-Token": None}).status == 403


@pytest.mark.parametrize("path", ["/", "/none", "/api/none", "/api/events?tab=none"])
def test_every_answer_has_the_headers(server: LabServer, path: str) -> None:
    """Also those that are errors."""
    headers = server.send("GET", path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


HOSTS = [
    ("192.168.0.7:80", True),
    ("192.168.0.7", True),
    ("[fe80::1]:80", True),
    ("class.local", True),
    ("CLASS.local.:80", True),
    ("evil.example:80", False),
    ("192.168.0.7.evil.example", False),
    ("192.168.0.7:81", False),
    ("192.168.0.7:x", False),
    ("", False),
]


@pytest.mark.parametrize(("host", "allowed"), HOSTS)
def test_hosts_of_a_server_for_a_class(host: str, allowed: bool) -> None:
    """Beyond the loopback interface any address as digits is right, names only those of the machine."""
    assert AllowedHosts.of(["Class.local"], anywhere=True).allows(host, 80) is allowed


@pytest.mark.parametrize("query", ["a=1&" * 10 + "b=1", "&" * 11, "token=x&" * 11], ids=["fields", "ands", "tokens"])
def test_an_address_of_many_fields_is_refused(server: LabServer, query: str) -> None:
    """As one without the token is."""
    assert server.send("GET", f"/api/events?{query}", headers={"X-Lab-Token": None}).status == 403
