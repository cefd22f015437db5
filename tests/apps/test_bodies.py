"""The bodies of requests by the type of their parameter, the same over REST, by command and in the test kit;
and applications without a process.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import ApplicationLostError
from localcdap.apps.model import AppRequest
from localcdap.cli.main import run
from localcdap.server.access import SiteCheck
from localcdap.server.rest.app import RequestAccess, RestApp
from localcdap.server.rest.table import build_router
from localcdap.testing import AppTester, TemporaryInstance
from tests.apps.echo_application import Echoing, Order
from tests.server.rest.client import PORT, RestClient

METHODS = "/v3/namespaces/system/apps/{}/{}/methods/{}"
CONTENT_TYPES = (
    "application/json",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
)
WRONG = 400
"""Stands for the answer to a body that is refused."""
BODIES = [
    ("bytes", b'{"a": 1}', {"bytes": '{"a": 1}'}),
    ("bytes", b'"YWJj"', {"bytes": '"YWJj"'}),
    ("bytes", b"\xff\x00", {"bytes": "\xff\x00"}),
    ("bytes", b" ", {"bytes": " "}),
    ("bytes", b"", None),
    ("short", b"1234", {"bytes": "1234"}),
    ("short", b"12345", WRONG),
    ("short", b"", WRONG),
    ("text", b'"buy milk"', '"buy milk"'),
    ("text", "für".encode(), "für"),
    ("text", b"[1]", "[1]"),
    ("text", b"\xff", WRONG),
    ("text", b"", WRONG),
    ("texts", b'["a", "b"]', ["a", "b"]),
    ("texts", b'[5, 1.10, 1E2, true, "1.0"]', ["5", "1.10", "1E2", "true", "1.0"]),
    ("texts", b'\xef\xbb\xbf["a"]\r\n', ["a"]),
    ("texts", b"[[1]]", WRONG),
    ("texts", b'["a", null]', WRONG),
    ("texts", b"a,b", WRONG),
    ("texts", b'"a"', WRONG),
    ("texts", b"null", WRONG),
    ("texts", b"[" * 100_000, WRONG),
    ("by-name", b'{"a": "x", "b": null}', {"a": "x", "b": None}),
    ("by-name", b'{"a": 5, "b": null}', {"a": "5", "b": None}),
    ("by-name", b"a=x", WRONG),
    ("encoded", b'{"a": "YWJj"}', {"a": "YWJj"}),
    ("order", b'{"customerName": "ada", "count": 2}', ["ada", 2, None]),
    ("order", b'{"customerName": 5, "count": "2", "notes": [1.0, null]}', ["5", 2, ["1.0", None]]),
    ("order", b'{"customerName": "ada", "count": "two"}', WRONG),
    ("order", b"{}", WRONG),
    ("order", b"null", None),
    ("order", b"", None),
    ("order", b"\xff", WRONG),
    ("anything", b'{"a": [1, 1.5, "x", null]}', {"a": [1, 1.5, "x", None]}),
    ("anything", b'"x"', "x"),
    ("anything", b"x", WRONG),
]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    folder = tmp_path_factory.mktemp("bodies")
    source = Path(__file__).with_name("echo_application.py").read_text()
    working, broken = folder / "echoing-1.0.0.py", folder / "broken-1.0.0.py"
    working.write_text(source)
    broken.write_text(source.replace("[Echo]", "[Broken]").replace('"echoing"', '"broken"'))
    with TemporaryInstance(folder / "home") as made:
        made.drop(working, "system")
        made.drop(broken, "system")
        yield made


@pytest.fixture(scope="module")
def client(instance: TemporaryInstance) -> Iterator[RestClient]:
    def report(error: BaseException, what: str) -> str:
        raise AssertionError(what) from error

    app = RestApp(instance.cdap, SiteCheck(PORT), RequestAccess(None), build_router(), report)
    with RestClient(app) as client:
        yield client


def expect(path: str, expected: Any) -> tuple[int, Any]:
    if expected == WRONG:
        return WRONG, "refused"
    if path == "order" and expected is not None:
        expected = dict(zip(("customerName", "count", "notes"), expected, strict=True))
    return 200, expected


@pytest.mark.parametrize("content_type", CONTENT_TYPES)
def test_over_rest(client, content_type):
    for path, body, expected in BODIES:
        response = client.send(
            "POST",
            METHODS.format("echoing", "services/echo", path),
            content=body,
            headers={"Content-Type": content_type},
        )
        text = response.text
        answer = json.loads(text or "null") if response.status_code == 200 else "refused"
        assert (response.status_code, answer) == expect(path, expected), (path, body, text)


def test_by_command(instance, tmp_path, capsys):
    for path, body, expected in BODIES:
        (tmp_path / "body").write_bytes(body)
        options = ["--body", f"@{tmp_path / 'body'}", "--json", "--home", str(instance.home.path)]
        code = run(["apps", "echoing", "POST", f"/{path}", *options])
        found = json.loads(capsys.readouterr().out)
        answer = found["body"] if code == 0 else "refused"
        assert (found["status"], answer) == expect(path, expected), (path, body)


@pytest.fixture
def app(cdap_app: Callable[[type], AppTester]) -> AppTester:
    return cdap_app(Echoing)


def test_in_the_test_kit(app):
    for path, body, expected in BODIES:
        found = app.post(f"/{path}", body)
        answer = found.body if found.status == 200 else "refused"
        assert (found.status, answer) == expect(path, expected), (path, body, found)


def test_values_take_the_place_of_bytes(app):
    def post(path: str, body: Any) -> Any:
        found = app.post(f"/{path}", body)
        return found.body if found.status == 200 else found.status

    order = {"customerName": "ada", "count": 1, "notes": None}
    assert post("bytes", "für") == {"bytes": "für".encode().decode("latin-1")}
    assert post("bytes", {"a": 1}) == {"bytes": '{"a":1}'}
    assert (post("text", "[1]"), post("text", [1])) == ("[1]", "[1]")
    assert (post("texts", ["a"]), post("texts", "a")) == (["a"], WRONG)
    assert post("order", Order("ada")) == order
    assert post("order", {"customerName": "ada"}) == order
    assert post("anything", "x") == "x"


@pytest.mark.parametrize("path", ["killed", "left"])
def test_an_application_that_ends_in_a_call_is_unavailable(instance, client, path):
    status, text = client.refused("GET", METHODS.format("echoing", "services/echo", path))

    assert (status, "while it answered GET" in text) == (503, True)
    texts = METHODS.format("echoing", "services/echo", "texts")
    assert client.ok("POST", texts, ["next"]) == ["next"]
    with pytest.raises(ApplicationLostError):
        instance.cdap.apps.call("echoing", AppRequest("GET", f"/{path}"))


def test_one_that_does_not_start_is_unavailable(client):
    status, text = client.refused("GET", METHODS.format("broken", "services/broken", "state"))

    assert (status, "ZeroDivisionError: a bug" in text) == (503, True)


def test_one_that_takes_too_long_is_unavailable(instance, client, monkeypatch):
    monkeypatch.setattr(instance.cdap.apps, "_limit_s", 0.5)

    status, text = client.refused("GET", METHODS.format("echoing", "services/echo", "asleep"))

    assert (status, "took more than 0.5 s" in text) == (503, True)


def test_a_report_is_made_and_saved_over_rest(client):
    def reports(path: str = "") -> str:
        spark = "spark/ReportGenerationSpark"
        return METHODS.format("ReportGenerationApp", spark, f"reports{path}")

    request = {"name": "r", "start": 1, "end": 2_000_000_000, "fields": ["status"]}
    id = client.ok("POST", reports(), request)["id"]
    deadline = time.monotonic() + 60
    while client.ok("GET", reports(f"/info?report-id={id}"))["status"] == "RUNNING":
        assert time.monotonic() < deadline
    saved = client.ok("POST", reports(f"/{id}/save"), {"name": "kept", "description": "for ever"})

    assert "saved successfully with the name: 'kept'" in saved
    info = client.ok("GET", reports(f"/info?report-id={id}"))
    assert (info["name"], info["status"]) == ("kept", "COMPLETED")
    assert client.refused("POST", reports())[0] == 400


def test_a_json_file_is_uploaded_over_rest(client):
    base = METHODS.format("dataprep", "services/service", "v2/contexts/default/workspaces")
    rows = [{"a": 1}, {"a": 2}]

    id = client.send(
        "POST", f"{base}/upload", json=rows, headers={"file": "rows.json", "recorddelimiter": "\n"}
    ).text

    found = client.ok("POST", f"{base}/{id.strip(chr(34))}/execute", {"directives": []})
    assert found["values"] == [{"body": json.dumps(rows, separators=(",", ":"))}]
