"""Who is let in, by the headers of a request, a link and a cookie."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from localcdap.server.access import Access


@pytest.fixture
def access() -> Access:
    return Access(8000)


@pytest.mark.parametrize(
    ("host", "origin", "accepted", "socket_accepted"),
    [
        ("127.0.0.1:8000", None, True, False),
        ("localhost:8000", "http://localhost:8000", True, True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000", True, True),
        ("127.0.0.1:8000", "https://127.0.0.1:8000", False, False),
        ("127.0.0.1:8000", "http://127.0.0.1:8001", False, False),
        ("127.0.0.1:8000", "http://evil.example", False, False),
        ("127.0.0.1:8000", "null", False, False),
        ("127.0.0.1:8000", "", False, False),
        ("evil.example:8000", None, False, False),
        ("evil.example:8000", "http://127.0.0.1:8000", False, False),
        ("127.0.0.1", None, False, False),
        ("", None, False, False),
    ],
)
def test_only_the_page_itself_may_ask(access, host, origin, accepted, socket_accepted):
    given = CIMultiDict(Host=host)
    if origin is not None:
        given["Origin"] = origin
    headers = CIMultiDictProxy(given)

    assert (access.find_refusal(headers) is None) is accepted
    assert (access.find_refusal(headers, needs_origin=True) is None) is socket_accepted


def test_a_link_works_once(access):
    token = access.create_link().partition("=")[2]
    assert access.exchange_token("") is None
    assert access.exchange_token(token + "x") is None
    session = access.exchange_token(token)
    assert access.exchange_token(token) is None

    assert access.has_session(session)
    assert not access.has_session(token)
    assert not access.has_session("")
    assert not access.has_session(None)
    assert not access.has_session("ä")


def test_a_new_link_replaces_the_one_before(access):
    old, new = (access.create_link().partition("=")[2] for _ in range(2))
    assert access.exchange_token(old) is None
    assert access.exchange_token(new) is not None
