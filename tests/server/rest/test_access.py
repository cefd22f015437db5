"""Who is answered: the headers of requests, the token and the user."""

from __future__ import annotations

import stat

import pytest

from localcdap.api.errors import StoreError
from localcdap.server.access import SiteCheck
from localcdap.server.rest.app import RequestAccess, RestApp
from localcdap.server.rest.process import read_token
from localcdap.server.rest.table import build_router
from tests.server.rest.client import NS, PORT, RestClient


@pytest.fixture
def guarded(cdap) -> RestClient:
    app = RestApp(
        cdap, SiteCheck(PORT), RequestAccess("s3cret", False), build_router(), lambda *_: ""
    )
    return RestClient(app)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:11015"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:11015"},
    ],
)
def test_other_sites_are_refused(client, headers):
    response = client.send("PUT", "/v3/namespaces/stolen", headers=headers, content=b"{}")

    assert response.status_code == 403
    assert client.refused("GET", "/v3/namespaces/stolen")[0] == 404


def test_the_own_origin_is_answered(client):
    client.ok("GET", "/v3/namespaces", headers={"Origin": "http://localhost:11015"})


def test_a_request_needs_the_token(guarded):
    assert guarded.refused("GET", "/v3/namespaces")[0] == 401
    for wrong in ("Bearer other", "Basic s3cret", "Bearer", "s3cret", "Bearer é"):
        headers = [(b"Authorization", wrong.encode("latin-1"))]
        assert guarded.send("GET", "/v3/namespaces", headers=headers).status_code == 401
    guarded.ok("GET", "/v3/namespaces", headers={"Authorization": "Bearer s3cret"})
    assert guarded.ok("GET", "/ping") == "OK.\n"


def test_any_token_is_taken_when_the_server_is_open(client):
    client.ok("GET", "/v3/namespaces", headers={"Authorization": "Bearer ya29.google"})


def test_the_token_is_kept_in_a_file_of_its_user(tmp_path):
    file = tmp_path / "server" / "token"

    token = read_token(file)

    assert len(token) > 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert read_token(file) == token
    file.chmod(0o644)
    with pytest.raises(StoreError, match="Other users can read the token"):
        read_token(file)


def test_the_header_names_the_user_where_it_is_trusted(client, guarded, pipeline):
    anna = {"CDAP-UserId": "anna"}

    record = client.ok("PUT", f"{NS}/apps/of_anna", pipeline, headers=anna)

    assert record["change"]["author"] == "anna"
    token = {"Authorization": "Bearer s3cret"}
    record = guarded.ok("PUT", f"{NS}/apps/of_anna", pipeline, headers=anna | token)
    assert record["change"]["author"] != "anna"


def test_forms_of_addresses(client):
    expected = client.ok("GET", "/v3/namespaces")

    assert client.ok("GET", "/v3/namespaces/") == expected
    assert client.ok("GET", "/api/v3/namespaces") == expected
    assert client.refused("GET", "/V3/namespaces")[0] == 404
    assert client.refused("GET", "/v3/nothing")[0] == 404
    assert client.refused("PATCH", "/v3/namespaces")[0] == 405
    assert client.send("OPTIONS", NS).headers["allow"] == "GET, HEAD, OPTIONS, PUT"
    head = client.send("HEAD", NS)
    assert (head.status_code, head.content) == (200, b"")


async def test_a_body_of_another_site_is_not_read(cdap):
    """The application is called as a web server does: nothing else sees what it reads."""
    app = RestApp(cdap, SiteCheck(PORT), RequestAccess(None), build_router(), lambda *_: "")
    sent = []

    async def receive():
        raise AssertionError("the body was read")

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{NS}/artifacts/evil",
        "raw_path": f"{NS}/artifacts/evil".encode(),
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:11015"), (b"origin", b"http://evil.example")],
    }
    await app(scope, receive, send)

    assert sent[0]["status"] == 403
