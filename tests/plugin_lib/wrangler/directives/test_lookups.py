"""catalog-lookup, table-lookup, invoke-http and data-model-map-column."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from localcdap.api.arrow import RecordCodec
from localcdap.api.schema import Schema
from localcdap.api.tables import TableShape
from localcdap.engine.plan.tables import sort_rows
from localcdap.engine.tasks.lookups import SortedRows
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT
from localcdap.plugin_lib.wrangler.recipe.batch import RecipeExecutor, RowFailure
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.recipe.propagation import (
    PropagatedColumns,
    propagate,
    to_columns,
)
from tests.plugin_lib.wrangler.directives.recipes import (
    build_valid_directives,
    list_problems,
    run,
    run_failing,
)


@pytest.fixture
def catalogs(tmp_path: Path) -> Path:
    lines = "0010    Cholera due to vibrio cholerae\nE8000   Railway accident\n"
    (tmp_path / "icd-9_cm_codes.txt").write_text(lines)
    return tmp_path


def looked_up(folder: object, recipe: str, row: dict) -> object:
    executor = RecipeExecutor(build_valid_directives(recipe), {ARGUMENT: str(folder)})
    executor.start()
    return executor.run(row)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"code": "0010"}, "Cholera due to vibrio cholerae"),
        ({"code": "E8000"}, "Railway accident"),
        ({"code": "x"}, None),
        ({"code": None}, None),
        ({"code": 10}, None),
        ({}, None),
    ],
)
def test_codes_are_looked_up_in_a_catalog(catalogs, row, found):
    made = looked_up(catalogs, "catalog-lookup ICD-9 :code", row)
    assert made == [{**row, "code_icd_9_description": found}]


def test_a_catalog_that_is_missing_fails_on_the_row(catalogs):
    made = looked_up(catalogs, "catalog-lookup 'icd-10-2017' :code", {"code": "1"})
    assert isinstance(made, RowFailure)
    assert "no 'icd-10-2017_cm_codes.txt' in the folder" in made.message
    assert ARGUMENT in run_failing("catalog-lookup ICD-9 :code", {"code": "1"}).message


def test_catalogs_are_named_and_their_column_is_known():
    assert list_problems("catalog-lookup ICD-11 :code")
    steps = load_recipe("catalog-lookup ICD-9 :code")
    columns = propagate(steps.steps, to_columns(Schema.record("r", [("code", Schema.STRING)])))
    assert list(columns.after) == ["code", "code_icd_9_description"]


CUSTOMERS = TableShape(
    Schema.record(
        "c",
        [
            ("id", Schema.STRING),
            ("City", Schema.STRING.as_nullable),
            ("age", Schema.INT.as_nullable),
            ("vip", Schema.BOOLEAN.as_nullable),
        ],
    ),
    "id",
)


@pytest.fixture
def customers() -> SortedRows:
    rows = [
        {"id": "bob", "City": "Palo Alto, CA", "age": 41, "vip": True},
        {"id": "joe", "City": None, "age": None, "vip": False},
    ]
    table = pa.Table.from_batches([RecordCodec(CUSTOMERS.schema).encode(rows)])
    assert CUSTOMERS.found is not None
    return SortedRows(sort_rows("customers", table, CUSTOMERS), CUSTOMERS.found)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"id": "bob"}, {"id_City": "Palo Alto, CA", "id_age": "41", "id_vip": "true"}),
        ({"ID": "joe"}, {"id_vip": "false"}),
        ({"id": "ann"}, {}),
        ({"id": "bob", "id_age": 1, "x": 2}, {"id_City": "Palo Alto, CA", "id_vip": "true"}),
        ({"x": "bob"}, {}),
        ({"id": None}, "column 'id' is null; a text is needed"),
        ({"id": 5}, "column 'id' is a int; a text is needed"),
    ],
)
def test_rows_of_a_table_become_columns(customers, row, found):
    executor = RecipeExecutor(
        build_valid_directives("table-lookup :id 'customers'"), {}, lookups={"customers": customers}
    )
    made = executor.run(row)
    if isinstance(made, RowFailure):
        assert made.message.endswith(str(found))
    else:
        assert made == [{**row, **found}]


def propagate_columns_of(
    recipe: str, found: dict[str, TableShape], **given: Schema
) -> PropagatedColumns:
    return propagate(
        load_recipe(recipe).steps, to_columns(Schema.record("r", given.items()), found.get)
    )


def test_columns_are_known_when_the_table_is():
    recipe = "table-lookup :id 'customers'; uppercase :id_City"
    known = propagate_columns_of(recipe, {"customers": CUSTOMERS}, id=Schema.STRING).after
    nullable = Schema.STRING.as_nullable
    assert known.items() == [
        ("id", Schema.STRING),
        ("id_City", nullable),
        ("id_age", nullable),
        ("id_vip", nullable),
    ]
    assert not known.open
    unknown = propagate_columns_of(recipe, {}, id=Schema.STRING)
    assert unknown.after.open
    assert not unknown.problems


@pytest.mark.parametrize(
    ("given", "shape", "reported"),
    [
        ({"id": Schema.INT}, CUSTOMERS, "column 'id' is of type int; only texts"),
        ({"x": Schema.STRING}, CUSTOMERS, "There is no column 'id' to look up"),
        (
            {"id": Schema.STRING},
            TableShape(CUSTOMERS.schema),
            "table 'customers' has no key by which",
        ),
    ],
)
def test_what_a_lookup_cannot_work_on_is_reported(given, shape, reported):
    (problem,) = propagate_columns_of(
        "table-lookup :id 'customers'", {"customers": shape}, **given
    ).problems
    assert reported in problem.message
    assert problem.is_warning == ("x" in given)


def test_tables_are_not_at_hand_where_nobody_opens_them():
    made = run_failing("table-lookup :id 'customers'", {"id": "bob"})
    assert "table 'customers' cannot be looked into here: use a run" in made.message


class Service(http.server.BaseHTTPRequestHandler):
    seen: list[tuple[dict, object]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(({k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/score")
            self.end_headers()
            return
        if self.path == "/broken":
            self.send_error(503, "Not today")
            return
        answers = {
            "/list": "[1]",
            "/empty": "",
            "/text": "{x",
            "/score": '{"score": 5, "a": {"b": [1]}}',
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answers[self.path].encode())

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def service(monkeypatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    Service.seen.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_columns_are_posted_and_the_answer_becomes_columns(service):
    (row,) = run(
        f"invoke-http '{service}/score' :Lat,:none,:missing 'key=x, user = me '",
        {"lat": 1, "none": None, "score": "old"},
    )

    assert row == {"lat": 1, "none": None, "score": 5.0, "a": {"b": [1.0]}}
    headers, body = Service.seen[0]
    assert body == {"Lat": 1}
    assert (headers["key"], headers["user"]) == ("x", "me")
    assert headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("moved", "status code: 302"),
        ("broken", "status code: 503, reason phrase: Not today"),
        ("list", "not an object"),
        ("empty", "not an object"),
        ("text", "not valid JSON"),
    ],
)
def test_rows_without_an_answer_go_to_the_error_port(service, path, reported):
    made = run_failing(f"invoke-http '{service}/{path}' :a", {"a": 1})

    assert (made.kind, made.code) == (2, 500)
    assert reported in made.message
    assert made.message.endswith("(ecode: 500, directive: invoke-http)")


def test_a_service_that_is_not_there(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = run_failing("invoke-http 'http://127.0.0.1:1/x' :a", {"a": float("inf")})
    assert made.code == 500
    made = run_failing("invoke-http 'http://127.0.0.1:1/x' :a", {"a": 1})
    assert "no connection" in made.message


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        ("'file:///etc/passwd' :a", "http://"),
        ("'http://x' :a 'key'", "not name=value"),
        ("'http://x' :a 'key=a=b'", "not name=value"),
        ("'http://x' :a 'key= '", "needs a name and a value"),
    ],
)
def test_addresses_and_headers_are_checked(arguments, reported):
    assert reported in list_problems(f"invoke-http {arguments}")[0]


MODEL = {
    "type": "record", "name": "models", "namespace": "org.example", "_revision": "2",
    "fields": [
        {"name": "person", "type": ["null", {
            "type": "record", "name": "PERSON", "fields": [
                {"name": "year", "type": ["null", "int"]},
                {"name": "name", "type": "string"},
                {"name": "list", "type": ["null", {"type": "array", "items": "int"}]},
            ]}]},
        {"name": "other", "type": ["null", "org.example.PERSON"]},
        {"name": "plain", "type": ["null", "string"]},
    ],
}  # fmt: skip


@pytest.fixture
def models(tmp_path: Path) -> Path:
    manifest = {"standards": {"M_1": {"format": "avsc"}, "other": {"format": "json"}}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "M_1.avsc").write_text(json.dumps(MODEL))
    return tmp_path


def mapping(models: object, *, model="person", field="year", name="org.example.models", revision=2):
    return f"data-model-map-column '{models}' '{name}' {revision} '{model}' '{field}' :born"


@pytest.mark.parametrize("model", ["person", "other"])
def test_a_column_gets_the_type_and_name_of_a_field(models, model):
    recipe = mapping(models, model=model)

    assert run(recipe, {"born": "1970"}) == [{"year": 1970}]
    assert run(recipe, {"born": None}) == [{"year": None}]
    assert run(recipe, {"x": 1}) == [{"x": 1}]
    assert run_failing(recipe, {"born": "x"}).kind == 1
    assert "exists already" in run_failing(recipe, {"born": "1", "year": 2}).message
    given = Schema.record("r", [("born", Schema.STRING)])
    columns = propagate(load_recipe(recipe).steps, to_columns(given)).after
    assert columns.items() == [("year", Schema.INT.as_nullable)]


def test_models_are_read_from_files_by_address(models):
    assert run(mapping(models.as_uri(), field="name"), {"born": 5}) == [{"name": "5"}]


@pytest.mark.parametrize(
    ("changed", "reported"),
    [
        ({"name": "no"}, "there are org.example.models revision 2"),
        ({"revision": 3}, "revision 3"),
        ({"model": "no"}, "there are other, person, plain"),
        ({"model": "plain"}, "not a record"),
        ({"field": "no"}, "there are list, name, year"),
        ({"field": "list"}, "no column can be"),
    ],
)
def test_what_is_not_there_is_named(models, changed, reported):
    assert reported in list_problems(mapping(models, **changed))[0]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"standards": {"x": {"format": "avsc"}}}'])
def test_an_address_without_models_is_reported(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    assert "cannot be loaded" in list_problems(mapping(tmp_path))[0]
    assert "cannot be loaded" in list_problems(mapping(tmp_path / "none"))[0]
