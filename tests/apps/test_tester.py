"""The sample application without any process."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localcdap.api.app import (
    FieldType,
    NamespaceSummary,
    StructuredTableSpecification,
    SystemApplication,
    SystemService,
    application,
    get,
    post,
)
from localcdap.api.app.application import describe_application
from localcdap.api.errors import ConflictError
from localcdap.apps.model import AppRequest
from localcdap.apps.storage import AppDeployer
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.testing import AppTester
from tests.apps.catalogue import EXPERIMENTS, Catalogue, NewExperiment

HERE = "/contexts/{}/experiments"


@pytest.fixture
def app(cdap_app) -> AppTester:
    made = cdap_app(Catalogue)
    made.namespaces.create("sales")
    return made


def ids(app: AppTester, namespace: str = "sales") -> list[str]:
    answer = app.get(HERE.format(namespace), limit=100)
    assert answer.status == 200
    return [each["id"] for each in answer.body["experiments"]]


def test_rows_are_isolated_by_namespace(app):
    made = app.post(HERE.format("sales"), NewExperiment("a", "first"))
    app.post(HERE.format("default"), {"id": "b"})

    assert (made.status, made.body) == (201, {"id": "a", "note": "first", "runs": 0})
    assert (ids(app), ids(app, "default")) == (["a"], ["b"])
    assert app.get("/contexts/default/experiments/a").status == 404


def test_the_system_namespace_is_refused_by_routes_of_namespaces(app):
    answers = [app.get(HERE.format("system")), app.post(HERE.format("system"), {"id": "a"})]

    assert [answer.status for answer in answers] == [400, 400]
    assert "in system namespace is currently not supported" in answers[0].body["message"]
    assert app.get("/rows").status == 200


def test_pages_of_a_scan(app):
    for id in "cbead":
        app.post(HERE.format("sales"), {"id": id})

    pages, after = [], {}
    while True:
        page = app.get(HERE.format("sales"), limit=2, **after).body
        pages.append([each["id"] for each in page["experiments"]])
        if page["next"] is None:
            break
        after = {"after": page["next"]}

    assert pages == [["a", "b"], ["c", "d"], ["e"]]


def test_a_namespace_that_is_deleted_and_made_again_has_no_old_rows_at_once_nor_later(app):
    app.post(HERE.format("sales"), {"id": "a"})
    app.namespaces.delete("sales")
    gone = app.get(HERE.format("sales"))
    app.namespaces.create("sales")

    assert (gone.status, gone.body["message"]) == (404, "Namespace 'sales' does not exist.")
    assert ids(app) == []
    app.post(HERE.format("sales"), {"id": "new"})
    app.deliver()
    assert ids(app) == ["new"]
    assert app.get("/rows").body == 1
    assert app.get("/deletions").body == {"sales": 1}
    app.deliver()
    assert app.get("/deletions").body == {"sales": 1}


def test_what_a_handler_refuses_is_an_answer(app):
    app.post(HERE.format("sales"), {"id": "a"})

    again = app.post(HERE.format("sales"), {"id": "a"})
    missing = app.get("/contexts/sales/experiments/x")
    broken = app.get("/broken")

    assert (again.status, again.body["message"]) == (409, "Experiment 'a' exists already.")
    assert (missing.status, missing.body["message"]) == (404, "There is no experiment 'x'.")
    assert (broken.status, broken.body["message"]) == (500, "ZeroDivisionError: a bug")


def test_what_does_not_fit_is_reported_all_at_once(app):
    wrong = app.get(HERE.format("sales"), limit="many", colour="red")

    assert wrong.status == 400
    assert "'limit': Expected `int`" in wrong.body["message"]
    assert "Unknown query parameter colour; known: limit, after." in wrong.body["message"]
    assert app.post(HERE.format("sales")).body["message"] == "The body is missing."
    assert "`id`" in app.post(HERE.format("sales"), {"note": "x"}).body["message"]
    assert app.post(HERE.format("sales"), b"{not json").status == 400
    assert app.post(HERE.format("sales"), b'{"id": "json"}').status == 201


def test_what_is_nowhere(app):
    assert app.get("/nothing").status == 404
    assert "GET /deletions" in app.get("/nothing").body["correctiveAction"]
    other = app.delete("/deletions")
    assert (other.status, other.body["correctiveAction"]) == (405, "Use GET.")
    assert app.get("/deletions", service="none").status == 404


def test_names_are_unescaped(app):
    app.post(HERE.format("sales"), {"id": "a b/ü"})

    assert app.get("/contexts/sales/experiments/a%20b%2F%C3%BC").body["id"] == "a b/ü"


def test_counters(app):
    for _ in range(3):
        assert app.put("/contexts/sales/experiments/a/runs").body is None

    assert app.get("/contexts/sales/experiments/a").status == 200
    assert app.get("/contexts/sales/experiments/a").body["runs"] == 3
    app.delete("/contexts/sales/experiments/a")
    assert ids(app) == []


def test_plugins_of_a_namespace(app, tmp_path):
    file = tmp_path / "shout-1.0.0.py"
    shutil.copyfile(Path(__file__).parent / "shout.py", file)
    app.drop(file, "sales")

    assert app.post("/contexts/sales/shout", ["ada", "bob"]).body == ["ADA!", "BOB!"]
    nowhere = app.post("/contexts/default/shout", ["ada"])
    assert (nowhere.status, nowhere.body["message"]) == (
        404,
        "Plugin named 'Shout' of type 'transform' not found.",
    )
    assert app.get("/spaces").body == {"default": [], "sales": ["shout"]}


def test_messages_and_preferences(app):
    app.preferences.replace(PreferenceLevel(), {"a": "1", "b": "1"})
    app.preferences.replace(PreferenceLevel("sales"), {"b": "2"})

    assert app.post("/messages/news", [1, 2]).body == [1, 2]
    assert app.get("/preferences/sales").body == {"a": "1", "b": "2"}
    assert app.get("/preferences/sales", own=True).body == {"b": "2"}


class Other(SystemService):
    tables = [
        StructuredTableSpecification(
            "experiments", fields={"id": FieldType.LONG}, primary_key=["id"]
        )
    ]


@application(name="other", description="Wants the same table to be another one.")
class OtherApp(SystemApplication):
    services = [Other]


def test_a_table_that_cannot_become_what_is_asked_for(app, cdap_app):
    deployment = AppDeployer(app.tables)

    with pytest.raises(ConflictError, match="Application 'other': Table experiments exists"):
        deployment.deploy("system", [describe_application(OtherApp, "x.OtherApp")])
    with pytest.raises(
        ConflictError, match="only run in the namespace 'system', but 'catalogue' is in"
    ):
        deployment.deploy("default", [describe_application(Catalogue, "x.Catalogue")])
    assert app.tables.get_schema("experiments") == EXPERIMENTS


def test_a_wrong_declaration_is_refused_with_every_reason():
    class Wrong(SystemService):
        @get("/things/{id}")
        def read(self, body: str, space: NamespaceSummary, count: len) -> None: ...  # type: ignore[valid-type]

    @application(name="wrong", description="Wrong.")
    class WrongApp(SystemApplication):
        services = [Wrong]

    with pytest.raises(TypeError) as caught:
        describe_application(WrongApp, "x.WrongApp")
    assert "no parameter 'id'" in str(caught.value)
    assert "nothing can be converted to the type of 'count'" in str(caught.value)
    assert "a GET request has no body" in str(caught.value)
    assert "'space' is a namespace, but no part of its path" in str(caught.value)


@pytest.mark.parametrize("path", ["things", "/things/{id", "/a//b", "/{a}/{a}", "/x{y}"])
def test_paths_that_are_none(path):
    class Wrong(SystemService):
        @post(path)
        def read(self, id: str = "", a: str = "", y: str = "") -> None: ...

    @application(name="wrong", description="Wrong.")
    class WrongApp(SystemApplication):
        services = [Wrong]

    with pytest.raises(TypeError, match="path"):
        describe_application(WrongApp, "x.WrongApp")


SEGMENTS = st.sampled_from(
    ["contexts", "sales", "default", "experiments", "runs", "a", "", "..", "%ff"]
)
PATHS = st.lists(SEGMENTS | st.text(max_size=5)).map(lambda parts: "/" + "/".join(parts))
BODIES = (
    st.none()
    | st.binary(max_size=20)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "note", "x"]), inner, max_size=3)
        ),
    )
)
QUERIES = st.dictionaries(
    st.sampled_from(["limit", "after", "x"]),
    st.text(max_size=5) | st.lists(st.text(max_size=3)),
    max_size=2,
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "get", "", "\0"])


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(METHODS, PATHS, QUERIES, BODIES)
def test_whatever_is_asked_is_answered(app, method, path, query, body):
    answer = app._runtime.answer(AppRequest(method, path, query, body))

    assert answer.status in (200, 201, 400, 404, 405, 409)
    msgspec.json.encode(answer)
