"""The files of the page: what is there, and nothing else."""

from __future__ import annotations

import gzip
import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubescheduler.lab import PAGE
from tests.support.pages.lab_server import LabServer, lab_server
from tests.support.processes import SECONDS

SCRIPT = b"export const text = 'a script';\n" * 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    page = tmp_path / "page"
    (page / "vendor").mkdir(parents=True)
    (page / "__pycache__").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (page / "index.html").write_text("<!doctype html><title>page</title>")
    (page / "vendor" / "script.js").write_bytes(SCRIPT)
    (page / "vendor" / "LICENSE").write_text("MIT")
    (page / "secret.py").write_text("secret")
    (page / ".hidden.js").write_text("secret")
    (page / "__pycache__" / "kept.txt").write_text("secret")
    (page / "link.txt").symlink_to(tmp_path / "secret.txt")
    return page


@pytest.fixture
def server(folder: Path) -> Iterator[LabServer]:
    with lab_server({}, page=folder) as running:
        yield running


def test_the_page_is_at_the_root(server: LabServer) -> None:
    """Without a token: nothing in it is secret."""
    answer = server.send("GET", "/", headers={"X-Lab-Token": None})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.body.startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    "path",
    [
        *("/../secret.txt", "/vendor/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt"),
        *("/%2e%2e%2fsecret.txt", "/..%5csecret.txt", "//etc/passwd", "/etc/passwd"),
        *("/vendor/script.js/../../../secret.txt", "/index.html%00.js", "/link.txt", "/secret.py", "/.hidden.js"),
        *("/__pycache__/kept.txt", "/vendor", "/vendor/", "/Index.html"),
    ],
)
def test_nothing_else_is_served(server: LabServer, path: str) -> None:
    """No way out of the folder, no links out of it, no code, no lists of folders."""
    answer = server.send("GET", path)
    assert answer.status == 404
    assert b"secret" not in answer.body
    assert b"script" not in answer.body


def test_a_path_that_is_no_address_does_no_harm(server: LabServer) -> None:
    """Bytes that are no UTF-8, and a line that is no request."""
    for line in (b"GET /\xff\xfe HTTP/1.1", b"GET http://evil.example/ HTTP/1.1", b"\x00"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as connection:
            connection.sendall(line + b"\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n" % server.port)
            assert connection.recv(100).split()[1] in (b"400", b"403", b"404", b"200")
    assert server.send("GET", "/").status == 200


def test_files_are_packed(server: LabServer) -> None:
    """For who understands it."""
    answer = server.send("GET", "/vendor/script.js", headers={"Accept-Encoding": "gzip, br"})
    assert gzip.decompress(answer.body) == SCRIPT
    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("gzip", "accept-encoding")
    assert server.send("GET", "/vendor/script.js").body == SCRIPT


def test_files_are_asked_for_again_only_when_changed(server: LabServer, folder: Path) -> None:
    """By their tags."""
    answer = server.send("GET", "/vendor/script.js")
    assert answer.headers["cache-control"] == "no-cache"
    again = {"If-None-Match": answer.headers["etag"]}
    assert server.send("GET", "/vendor/script.js", headers=again).status == 304
    (folder / "vendor" / "script.js").write_bytes(b"export {};")
    assert server.send("GET", "/vendor/script.js", headers=again).body == b"export {};"


def test_a_file_named_with_its_hash_is_kept_for_good(server: LabServer) -> None:
    """Not with another's."""
    digest = hashlib.sha256(SCRIPT).hexdigest()
    kept = server.send("GET", f"/vendor/script.js?v={digest[:16]}").headers["cache-control"]
    assert "immutable" in kept
    for wrong in ("", digest[:4], "0" * 64):
        assert server.send("GET", f"/vendor/script.js?v={wrong}").headers["cache-control"] == "no-cache"


def test_head_has_no_body(server: LabServer) -> None:
    """As HTTP has it."""
    answer = server.send("HEAD", "/")
    assert (answer.status, answer.body) == (200, b"")


def test_every_file_of_the_real_page_is_served() -> None:
    """Whatever the page's folder holds has a type; modules of Python are left out."""
    with lab_server({}) as server:
        for file in PAGE.rglob("*"):
            if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts:
                path = file.relative_to(PAGE).as_posix()
                assert server.send("GET", f"/{path}").body == file.read_bytes(), path
