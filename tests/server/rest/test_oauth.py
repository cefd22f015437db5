"""OAuth providers and credentials, as Terraform's provider ``cdap`` makes them."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest

from tests.server.rest.client import NS, WORKFLOW
from tests.server.rest.test_clients import wait_for_end

METHODS = "/v3/namespaces/system/apps/pipeline/services/studio/methods/v1"
CODE = {"oneTimeCode": "c0de&", "redirectURI": "https://here/back?a=b"}
TOKENS = {"access_token": "at", "refresh_token": "rt", "instance_url": "https://eu.example"}


class Provider:
    """Answers requests for tokens, and keeps them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.status = 200
        self.answer: Any = TOKENS
        self.asked: list[tuple[dict[str, str], dict[str, str]]] = []


@pytest.fixture
def provider() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            found.asked.append((dict(parse_qsl(body)), dict(self.headers)))
            content = json.dumps(found.answer).encode()
            self.send_response(found.status)
            if 300 <= found.status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    found = Provider(f"http://127.0.0.1:{server.server_port}/token")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def describe(provider: Provider, **changes: Any) -> dict[str, Any]:
    """What Terraform sends for ``cdap_oauth_provider``."""
    return {
        "clientId": "me",
        "clientSecret": "s3cret",
        "loginURL": "https://login.example/authorize",
        "tokenRefreshURL": provider.url,
        "credentialEncodingStrategy": "FORM_BODY",
        "userAgent": "localcdap",
    } | changes


def test_terraform_manages_a_provider_and_a_credential(client, cdap, provider):
    path = f"{METHODS}/oauth/provider/Sales"
    client.ok("PUT", path, describe(provider))
    assert provider.asked == []  # it is called only for tokens
    assert client.ok("GET", f"{path}/authurl?redirect_uri=https://here") == (
        "https://login.example/authorize?client_id=me&redirect_uri=https://here"
    )

    client.ok("PUT", f"{path}/credential/Mine", CODE)
    form, headers = provider.asked.pop()
    assert form == {
        "code": "c0de&",
        "redirect_uri": "https://here/back?a=b",
        "grant_type": "authorization_code",
        "client_id": "me",
        "client_secret": "s3cret",
    }
    assert headers["User-Agent"] == "localcdap"

    provider.answer = {**TOKENS, "access_token": "at2", "refresh_token": "rt2"}
    found = client.ok("GET", f"{path}/credential/Mine")
    assert found == {"accessToken": "at2", "instanceURL": "https://eu.example"}
    assert provider.asked.pop()[0]["refresh_token"] == "rt"
    assert client.ok("GET", f"{path}/credential/Mine/valid") == {"valid": True}
    assert provider.asked.pop()[0]["refresh_token"] == "rt2"  # the provider gave a new one
    provider.status = 401
    assert client.ok("GET", f"{path}/credential/Mine/valid") == {"valid": False}
    assert client.refused("GET", f"{path}/credential/Mine")[0] == 401

    names = [each.name for each in cdap.secure_keys.list_keys("system")]
    assert names == ["oauthclientcreds-sales", "oauthrefreshtoken-sales-mine"]
    client.ok("DELETE", path)
    client.ok("DELETE", path)
    missing = (404, "Unknown OAuth provider: Sales")
    assert client.refused("GET", f"{path}/authurl") == missing
    assert client.refused("GET", f"{path}/credential/Mine") == missing
    assert client.refused("PUT", f"{path}/credential/Mine", CODE) == missing


@pytest.mark.spark
def test_a_run_gets_the_token_which_nothing_that_it_leaves_shows(
    client, cdap, home, engine, provider, pipeline, source
):
    token = str(source)  # the run succeeds only if the path of its file is the token
    provider.answer = {"access_token": token, "refresh_token": "rt"}
    path = f"{METHODS}/oauth/provider/Files"
    client.ok("PUT", path, describe(provider))
    client.ok("PUT", f"{path}/credential/Mine", CODE)
    pipeline["config"]["stages"][0]["plugin"]["properties"]["path"] = (
        "${oauthAccessToken(Files,Mine)}"
    )
    client.ok("PUT", f"{NS}/apps/tokens", pipeline)
    (started,) = client.ok(
        "POST",
        f"{NS}/start",
        [{"appId": "tokens", "programType": "workflow", "programId": "DataPipelineWorkflow"}],
    )
    run = started["runId"]

    address = f"{NS}/apps/tokens/{WORKFLOW}/runs/{run}"
    assert wait_for_end(client, cdap, address)["status"] == "COMPLETED"

    assert len(cdap.tables.read_rows("default", "totals", 9).rows) == 2
    for each in (address, f"{address}/logs", f"{NS}/datasets/src/lineage?start=0&end=now+1h"):
        assert token not in client.send("GET", each).text
    assert token not in msgspec.json.encode(cdap.runs.get("default", run)).decode()
    files = [each for each in home.rglob("*") if each.is_file()]
    assert [each for each in files if token.encode() in each.read_bytes()] == []


def test_credentials_of_a_client_in_a_header(client, provider):
    path = f"{METHODS}/oauth/provider/basic"
    client.ok("PUT", path, describe(provider, credentialEncodingStrategy="BASIC_AUTH"))
    provider.answer = {"access_token": "for ever"}

    client.ok("PUT", f"{path}/credential/c", CODE)

    form, headers = provider.asked.pop()
    assert "client_secret" not in form
    pair = base64.b64encode(b"me:s3cret").decode()
    assert headers["Authorization"] == f"Basic {pair}"
    found = client.ok("GET", f"{path}/credential/c")
    assert found == {"accessToken": "for ever", "instanceURL": ""}
    assert provider.asked == []
    assert client.refused("GET", f"{path}/credential/c/valid") == (
        404,
        "Unknown OAuth credential: c",
    )
    assert client.refused("GET", f"{path}/credential/d") == (404, "Unknown OAuth access token: d")


def test_the_client_credentials_of_a_provider_stay(client, provider):
    path = f"{METHODS}/oauth/provider/kept"
    changed = describe(provider, loginURL="https://other.example/?x=y")
    del changed["clientId"], changed["clientSecret"]
    again = f"{path}?reuse_client_credentials=true"
    assert client.refused("PUT", again, changed)[0] == 400
    client.ok("PUT", path, describe(provider))
    client.ok("PUT", again, changed)
    assert client.ok("GET", f"{path}/authurl?redirect_url=u") == (
        "https://other.example/?x=y&client_id=me&redirect_uri=u"
    )


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (400, {"error": "invalid_grant"}, (400, "Request for refresh token did not return 200.")),
        (302, {}, (502, "Request for refresh token did not return 200. Response code: 302")),
        (204, {}, (502, "Request for refresh token did not return 200. Response code: 204")),
        (200, {"token": "x"}, (400, "Refresh token response body did not contain a refresh token")),
        (200, ["x"], (400, "Refresh token response body did not contain a refresh token")),
    ],
)
def test_a_provider_that_gives_no_token(client, provider, status, answer, expected):
    path = f"{METHODS}/oauth/provider/failing"
    client.ok("PUT", path, describe(provider))
    provider.status, provider.answer = status, answer

    found = client.refused("PUT", f"{path}/credential/c", CODE)

    assert (found[0], found[1][: len(expected[1])]) == expected
    assert len(provider.asked) == 1
    assert client.refused("GET", f"{path}/credential/c")[0] == 404


def test_a_provider_that_is_not_there(client, provider):
    path = f"{METHODS}/oauth/provider/gone"
    client.ok("PUT", path, describe(provider, tokenRefreshURL="http://127.0.0.1:1/token"))
    status, text = client.refused("PUT", f"{path}/credential/c", CODE)
    assert status == 502
    assert text.startswith("Error while fetching refresh token: http://127.0.0.1:1/token cannot be")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"clientId": None}, "Invalid provider: Client ID missing"),
        ({"clientSecret": ""}, "Invalid provider: Client secret missing"),
        ({"loginURL": "login.example"}, "Invalid URL: no protocol: login.example"),
        ({"loginURL": None}, "Invalid URL: loginURL is missing"),
        ({"tokenRefreshURL": "file:///etc/passwd"}, "Invalid URL: file:///etc/passwd is not"),
        ({"credentialEncodingStrategy": "X"}, "Invalid provider: credentialEncodingStrategy"),
        ({"userAgent": 1}, "Invalid provider: userAgent must be a text"),
    ],
)
def test_providers_that_are_refused(client, provider, changes, expected):
    path = f"{METHODS}/oauth/provider/bad"
    status, text = client.refused("PUT", path, describe(provider, **changes))
    assert status == 400
    assert text.startswith(expected)
    assert client.refused("GET", f"{path}/authurl")[0] == 404


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{", "Invalid JSON: "),
        ("", "Invalid request: missing one-time code"),
        ('{"oneTimeCode": "c"}', "Invalid request: missing redirect URI"),
    ],
)
def test_credentials_that_are_refused(client, body, expected):
    status, text = client.refused("PUT", f"{METHODS}/oauth/provider/x/credential/c", content=body)
    assert status == 400
    assert text.startswith(expected)
