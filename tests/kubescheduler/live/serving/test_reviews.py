"""What the API server is asked about who somebody is and what they may, how often, and what is remembered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from kubescheduler.live.serving.client_trust import AuthenticationError, UserInfo
from kubescheduler.live.serving.guard import Access, Authorizer, ExpiringCache, ReviewClient, TokenAuthenticator
from kubescheduler.live.transport.api_answers import ApiError
from kubescheduler.live.transport.api_client import ApiClient, ClientOptions, Limits
from kubescheduler.live.transport.io_thread import IoThread
from kubescheduler.live.transport.server_access import ServerAccess
from kubescheduler.releases.lookup import live_release
from tests.support.apiserver import ApiServer
from tests.support.live.live_cluster import StoodClock
from tests.support.live.serving import TOKENS, asking, kubeconfig, serving

RULES_1_16 = live_release("1.16").serving
RULES_1_36 = live_release("1.36").serving

Spec = dict[str, Any]

ALLOWED = ("/healthz", "/livez", "/readyz", "/readyz?verbose")
GUARDED = (
    *("/healthz/leaderElection", "/readyz/sched-handler-sync", "/metrics", "/metrics/resources", "/metrics/slis"),
    *("/configz", "/flagz", "/statusz", "/debug/pprof/", "/debug/flags/v", "/", "/nosuch", "/api/v1/pods"),
)
"""What was asked of a real 1.36: each path without a credential, then with a wrong token, nobody's and a master's."""


def access(path: str, user: str, group: str, **more: str) -> Spec:
    return {"nonResourceAttributes": {"path": path, "verb": "get"}, "user": user, "groups": [group], **more}


def asked_1_36() -> Iterator[tuple[str, Spec]]:
    """The reviews that it sent, each review of the wrong token but the first left out."""
    for token in ("wrong", "nobody-token", "admin-token"):
        yield "tokenreviews", {"token": token}
    for path in GUARDED:
        yield "subjectaccessreviews", access(path, "system:anonymous", "system:unauthenticated")
        yield "subjectaccessreviews", access(path, "nobody", "system:authenticated", uid="uid-nobody")


@pytest.fixture
def api(io: IoThread, server: ApiServer) -> Iterator[ApiClient]:
    """A client of the server in this process, which says what it was asked."""
    client = ApiClient(ServerAccess(server.url), ClientOptions(Limits(0, 0)))
    yield client
    io.wait(client.close())


def test_reviews_of_1_36(io: IoThread, server: ApiServer, tmp_path: Path) -> None:
    """The reviews are those of the real scheduler, in its order; the wrong token is asked about once."""
    server.tokens.update(TOKENS)
    with serving(io, "1.36", asking(kubeconfig(tmp_path, server.url))) as served:
        for path in (*ALLOWED, *GUARDED):
            for token in ("", "wrong", "nobody-token", "admin-token"):
                served.ask(path, token=token)
    reviews = [one for one in server.asked if "reviews" in one.path]
    assert [(one.path.rpartition("/")[2].partition("?")[0], one.body["spec"]) for one in reviews] == list(asked_1_36())
    heads = {(one.path, tuple(one.body), one.body["apiVersion"], str(one.body["status"])) for one in reviews}
    members = ("kind", "apiVersion", "metadata", "spec", "status")
    assert heads == {
        (*("/apis/authentication.k8s.io/v1/tokenreviews", members), *("authentication.k8s.io/v1", "{'user': {}}")),
        (
            *("/apis/authorization.k8s.io/v1/subjectaccessreviews?timeout=10s", members),
            *("authorization.k8s.io/v1", "{'allowed': False}"),
        ),
    }


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_reviews_of_1_16(io: IoThread, tmp_path: Path, version: str) -> None:
    """1.16 asks in v1beta1, where the groups are one member; without that it asks in today's version."""
    groups = tuple(f"{group}.k8s.io/{version}" for group in ("authentication", "authorization"))
    with ApiServer(io, groups=("v1", *groups)) as server:
        server.tokens.update(TOKENS)
        with serving(io, "1.16", asking(kubeconfig(tmp_path, server.url))) as served:
            assert served.ask("/metrics", token="nobody-token").code == 403
            assert served.ask("/metrics", token="admin-token").code == 200
    reviews = [one for one in server.asked if f"/{version}/" in one.path and "reviews" in one.path]
    assert [one.path.rpartition("/")[2] for one in reviews] == ["tokenreviews", "subjectaccessreviews", "tokenreviews"]
    assert {str(one.body["metadata"]) for one in reviews} == {"{'creationTimestamp': None}"}
    assert reviews[1].body["spec"]["group" if version == "v1beta1" else "groups"] == ["system:authenticated"]


# --- tries ---------------------------------------------------------------------------------------------


def failing(times: int, code: int, reason: str) -> Callable[[web.Request], Any]:
    """A server that refuses so many requests."""
    left = [times]

    async def answer(_: web.Request) -> web.Response | None:
        if not left[0]:
            return None
        left[0] -= 1
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": reason}
        return web.json_response({**status, "code": code}, status=code)

    return answer


@pytest.mark.parametrize(
    ("times", "code", "reason", "tries", "succeeds"),
    [
        pytest.param(4, 500, "InternalError", 5, True, id="four errors"),
        pytest.param(5, 500, "InternalError", 5, False, id="five errors"),
        pytest.param(1, 504, "Timeout", 2, True, id="time-out"),
        pytest.param(1, 429, "TooManyRequests", 2, True, id="too many requests"),
        pytest.param(1, 403, "Forbidden", 1, False, id="forbidden"),
        pytest.param(1, 503, "ServiceUnavailable", 1, False, id="unavailable"),
    ],
)
def test_tries(
    io: IoThread, server: ApiServer, api: ApiClient, times: int, code: int, reason: str, tries: int, succeeds: bool
) -> None:
    """A server in trouble is asked up to five times, after pauses that grow by half."""
    server.faults.append(failing(times, code, reason))
    clock = StoodClock()
    reviews = ReviewClient(api, RULES_1_36.token_reviews, clock, random.Random(1))
    if succeeds:
        assert io.wait(reviews.ask({"token": "t"}, {}))["authenticated"] is False
    else:
        with pytest.raises(ApiError, match="no"):
            io.wait(reviews.ask({"token": "t"}, {}))
    assert len(server.asked) == tries == len(clock.slept) + 1
    for at, pause in enumerate(clock.slept):
        assert 0.5 * 1.5**at <= pause <= 0.5 * 1.5**at * 1.2


# --- what is remembered ----------------------------------------------------------------------------------


def tokens_of(api: ApiClient, clock: StoodClock, seconds: float = 10.0) -> TokenAuthenticator:
    return TokenAuthenticator(ReviewClient(api, RULES_1_36.token_reviews, clock, random.Random(1)), seconds, clock)


def test_tokens_are_remembered(io: IoThread, server: ApiServer, api: ApiClient) -> None:
    """For ten seconds a token is what it was, whether it is known or not; an error is not remembered."""
    server.tokens.update(TOKENS)
    clock = StoodClock()
    tokens = tokens_of(api, clock)
    for moment, count in ((0.0, 2), (9.9, 2), (10.1, 4)):
        clock.moment = moment
        assert io.wait(tokens.authenticate("nobody-token")) == UserInfo("nobody", (), "uid-nobody")
        with pytest.raises(AuthenticationError, match="invalid bearer token"):
            io.wait(tokens.authenticate("wrong"))
        assert len(server.asked) == count
    server.faults.append(failing(1, 403, "Forbidden"))
    with pytest.raises(AuthenticationError, match="no"):
        io.wait(tokens.authenticate("other"))
    with pytest.raises(AuthenticationError, match="invalid bearer token"):
        io.wait(tokens.authenticate("other"))


def test_no_time_to_remember(io: IoThread, server: ApiServer, api: ApiClient) -> None:
    """With a time of 0 each request is asked about."""
    server.tokens.update(TOKENS)
    tokens = tokens_of(api, StoodClock(), 0.0)
    for _ in range(2):
        io.wait(tokens.authenticate("nobody-token"))
    assert len(server.asked) == 2


def test_one_review_for_many(io: IoThread, server: ApiServer, api: ApiClient) -> None:
    """Requests with one token at the same time are one question."""
    server.tokens.update(TOKENS)
    tokens = tokens_of(api, StoodClock())

    async def together() -> list[UserInfo]:
        return await asyncio.gather(*(tokens.authenticate("nobody-token") for _ in range(20)))

    assert len(io.wait(together())) == 20
    assert len(server.asked) == 1


def test_rights_are_remembered(io: IoThread, server: ApiServer, api: ApiClient) -> None:
    """Yes and no have their times; each user, verb and path is a question of its own."""
    server.allowed.add(("ann", "/metrics"))
    clock = StoodClock()
    reviews = ReviewClient(api, RULES_1_16.access_reviews, clock, random.Random(1))
    rights = Authorizer((), reviews, 20.0, 5.0, ExpiringCache(1024, clock))
    ann, bob = UserInfo("ann", ("g",)), UserInfo("bob")
    table = [
        (0.0, ann, "get", "/metrics", True, 1),
        (0.0, bob, "get", "/metrics", False, 2),
        (0.0, ann, "post", "/metrics", True, 3),
        (0.0, ann, "get", "/configz", False, 4),
        (4.9, bob, "get", "/metrics", False, 4),
        (5.1, bob, "get", "/metrics", False, 5),
        (19.9, ann, "get", "/metrics", True, 5),
        (20.1, ann, "get", "/metrics", True, 6),
    ]
    for moment, user, verb, path, allowed, count in table:
        clock.moment = moment
        assert (io.wait(rights.access(user, verb, path)) is Access.ALLOWED) is allowed
        assert len(server.asked) == count


@pytest.mark.parametrize(
    ("patterns", "path", "allowed"),
    [
        (("/healthz",), "/healthz", True),
        (("/healthz",), "/healthz/ping", False),
        (("/healthz",), "/healthz/", False),
        (("/healthz/*",), "/healthz/ping", True),
        (("/healthz*",), "/healthzz", True),
        (("healthz",), "/healthz", True),
        ((), "/healthz", False),
        (("*",), "/anything", True),
    ],
)
def test_allowed_paths(io: IoThread, patterns: tuple[str, ...], path: str, allowed: bool) -> None:
    """A path is allowed as it stands, or by its beginning before a star."""
    access = io.wait(Authorizer(patterns, None).access(UserInfo("ann"), "get", path))
    assert access is (Access.ALLOWED if allowed else Access.NO_OPINION)


def test_masters(io: IoThread) -> None:
    """Masters need nobody's word."""
    access = io.wait(Authorizer((), None).access(UserInfo("ann", ("system:masters",)), "delete", "/metrics"))
    assert access is Access.ALLOWED


@pytest.mark.parametrize(
    ("status", "access"),
    [
        pytest.param({"allowed": True}, Access.ALLOWED, id="yes"),
        pytest.param({"allowed": False}, Access.NO_OPINION, id="nobody says yes"),
        pytest.param({"allowed": False, "denied": True}, Access.DENIED, id="no"),
        pytest.param({"allowed": True, "denied": True}, Access.DENIED, id="no goes before yes"),
        pytest.param({}, Access.NO_OPINION, id="nothing"),
    ],
)
def test_what_a_review_says(io: IoThread, server: ApiServer, api: ApiClient, status: Any, access: Access) -> None:
    """A right is there, is denied, or nobody has an opinion of it."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"kind": "SubjectAccessReview", "status": status}, status=201)

    server.faults.append(answer)
    clock = StoodClock()
    reviews = ReviewClient(api, RULES_1_36.access_reviews, clock, random.Random(1))
    rights = Authorizer((), reviews, 20.0, 5.0, ExpiringCache(1024, clock))
    assert io.wait(rights.access(UserInfo("ann"), "get", "/metrics")) is access


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 5), st.integers(-1, 10)),
        st.tuples(st.just("get"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("wait"), st.just(0), st.integers(0, 6)),
    )
)


@given(STEPS, st.integers(1, 4))
def test_as_a_list(steps: list[tuple[str, int, int]], size: int) -> None:
    """It answers as a list does from which entries that are too old, and the least used ones, are removed."""
    clock = StoodClock()
    cache: ExpiringCache[int, int] = ExpiringCache(size, clock)
    known: list[tuple[int, float, int]] = []
    for at, (what, key, amount) in enumerate(steps):
        found = next((entry for entry in known if entry[0] == key), None)
        if what == "wait":
            clock.moment += amount
        elif what == "put":
            known = [entry for entry in known if entry[0] != key]
            known = [*known, (key, clock.moment + amount, at)][-size:] if amount > 0 else known
            cache.put(key, at, amount)
        elif found is None or found[1] <= clock.moment:
            known = [entry for entry in known if entry[0] != key]
            assert cache.get(key) is None
        else:
            known = [*(entry for entry in known if entry[0] != key), found]
            assert cache.get(key) == found[2]
        assert len(cache) == len(known) <= size
