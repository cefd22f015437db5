"""The workspaces of Data Prep (wrangler ``WorkspaceHandler``; the fixes of ``facts2.md`` 16)."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.engine.messages.host import StatementBatch

from .conftest import DataPrepClient

PEOPLE = "root,joltie,root@mars.com,32,1\njoltie,root,joltie@venus.com,1,\n"
SPLIT = ("parse-as-csv :body ',' false", "drop :body", "rename :body_1 fname")
REVERSED = """
from localcdap.api.directive import Directive, Row, RowContext, argument, plugin


@plugin(type="directive", name="text-reverse", description="Reverses a text.")
class Reverse(Directive):
    column: str = argument.column("The column whose text is reversed.")

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.column, row.value(self.column)[::-1])
"""


def test_an_uploaded_file_is_listed_changed_and_deleted(client: DataPrepClient) -> None:
    id = client.upload("a\nb\n")
    one = client.call("GET", f"workspaces/{id}").body
    assert (one["workspaceName"], one["workspaceId"]) == ("people.txt", id)
    assert (one["directives"], one["insights"]) == ([], {})
    assert one["createdTimeMillis"] == one["updatedTimeMillis"]
    assert "sampleSpec" not in one
    assert client.call("GET", "workspaces").body == {
        "values": [one],
        "count": 1,
        "message": "Success",
    }

    change = {"directives": ["drop :x"], "insights": {"chart": {"x": 1}}}
    assert client.call("POST", f"workspaces/{id}", change).status == 200
    found = client.call("GET", f"workspaces/{id}").body
    assert {name: found[name] for name in change} == change

    assert client.call("DELETE", f"workspaces/{id}").status == 200
    for method, path in (
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/execute"),
        ("GET", "/specification"),
    ):
        body = {"directives": []} if method == "POST" else None
        gone = client.call(method, f"workspaces/{id}{path}", body)
        assert (gone.status, gone.body["message"]) == (404, f"Workspace {id} does not exist")


def test_an_upload_needs_a_name_and_a_body(client: DataPrepClient) -> None:
    unnamed = client.call("POST", "workspaces/upload", b"a")
    assert unnamed.status == 400
    assert unnamed.body["message"] == "Name must be provided in the 'file' header"
    for body in (b"", None):
        empty = client.call("POST", "workspaces/upload", body, {"File": "x"})
        assert empty.status == 400
        assert empty.body["message"].startswith("Body not present, please post the file")


@pytest.mark.parametrize(
    ("headers", "text", "lines"),
    [
        ({}, "a\u001ab", ["a", "b"]),
        ({"recorddelimiter": r"\n"}, "a\n\nb\n\n", ["a", "", "b"]),
        ({"recorddelimiter": "|", "delimiter": ";"}, "a|b;ä", ["a|b", "ä"]),
        ({"delimiter": r"\t"}, "", None),
    ],
)
def test_delimiters(
    client: DataPrepClient, headers: dict[str, str], text: str, lines: list[str] | None
) -> None:
    sent = {"file": "x", **headers}
    answer = client.call("POST", "workspaces/upload", text.encode(), sent)
    if lines is None:
        assert answer.status == 400
        return
    shown = client.execute(answer.body).body
    assert [each["body"] for each in shown["values"]] == lines


def test_a_recipe_runs_on_the_sample_and_is_kept(client: DataPrepClient) -> None:
    id = client.upload(PEOPLE)
    directives = [*SPLIT, "set-type :body_4 integer", "rename :body_4 age"]
    shown = client.execute(id, *directives, limit=1).body
    assert shown["message"] == "Success"
    assert shown["count"] == 1
    assert shown["values"] == [
        {
            "fname": "root",
            "body_2": "joltie",
            "body_3": "root@mars.com",
            "age": "32",
            "body_5": "1",
        }
    ]
    assert shown["headers"] == ["fname", "body_2", "body_3", "age", "body_5"]
    assert shown["types"] == {
        "fname": "String",
        "body_2": "String",
        "body_3": "String",
        "age": "Int",
        "body_5": "String",
    }
    statistics = shown["summary"]["statistics"]
    assert statistics["body_3"]["general"] == {"non-null": 100.0}
    assert statistics["body_3"]["types"]["Email"] == 100.0
    assert "types" not in statistics["age"]
    assert shown["summary"]["validation"]["fname"] == {"valid": True}
    kept = client.call("GET", f"workspaces/{id}").body
    assert kept["directives"] == directives
    assert kept["updatedTimeMillis"] >= kept["createdTimeMillis"]


def test_the_summary_is_that_of_all_rows(client: DataPrepClient) -> None:
    id = client.upload("1,a\n2,\n3,\n4,d\n")
    shown = client.execute(
        id,
        "parse-as-csv :body ',' false",
        "drop :body",
        "rename :body_1 select",
        "rename :body_2 a-b",
        limit=1,
    )
    assert shown.status == 200, shown.body
    summary = shown.body["summary"]
    assert summary["validation"] == {
        "select": {"valid": False, "message": "Column 'select' is a reserved word."},
        "a-b": {"valid": False, "message": "Column 'a-b' contains non-alphanumeric characters"},
    }
    general = summary["statistics"]["a-b"]["general"]
    assert sum(general[name] for name in general if name != "empty") == 100.0
    assert general.get("null", 0) + general.get("empty", 0) == 50.0


def test_a_column_without_values_in_the_last_row_has_a_type(client: DataPrepClient) -> None:
    id = client.upload('{"n": -1.5, "x": null}\n{"n": null, "x": null}\n')
    shown = client.execute(id, "parse-as-json :body 1").body
    assert shown["types"] == {"body_n": "Double", "body_x": "NULL"}
    assert shown["values"][0] == {"body_n": "-1.5", "body_x": None}
    nested = client.upload('{"a": [1, {"b": "x"}]}\n')
    assert client.execute(nested, "parse-as-json :body 1").body["values"] == [
        {"body_a": '[1,{"b":"x"}]'}
    ]


def test_a_failing_directive_is_named_and_nothing_is_kept(client: DataPrepClient) -> None:
    id = client.upload("1\nx\n")
    assert client.execute(id, "rename :body n").status == 200
    failed = client.execute(id, "rename :body n", "set-type :n integer")
    assert failed.status == 400
    assert (failed.body["rowIndex"], failed.body["directiveIndex"]) == (1, 2)
    assert "'x'" in failed.body["message"]
    unknown = client.execute(id, "no-such :body")
    assert unknown.status == 400
    assert "no-such" in unknown.body["message"]
    assert client.call("GET", f"workspaces/{id}").body["directives"] == ["rename :body n"]


def test_rows_that_cannot_be_parsed_are_left_out_and_reported(client: DataPrepClient) -> None:
    id = client.upload("2026-01-02\nsoon\n2026-03-04\n")
    shown = client.execute(id, "parse-as-simple-date :body yyyy-MM-dd").body
    assert shown["count"] == 2
    assert shown["errorCount"] == 1
    (error,) = shown["errors"]
    assert (error["rowIndex"], error["directiveIndex"]) == (1, 1)


def test_errors_that_are_shown_fail_the_execution(client: DataPrepClient) -> None:
    id = client.upload("1\n-1\n-2\n")
    hidden = client.execute(id, "send-to-error exp:{body =~ '-.*'}")
    assert (hidden.status, hidden.body["count"], hidden.body["errorCount"]) == (200, 1, 2)
    shown = client.execute(id, "send-to-error-and-continue exp:{body =~ '-.*'} 'negative'")
    assert shown.status == 400
    assert shown.body["count"] == 2
    assert {each["showInWrangler"] for each in shown.body["values"]} == {True}
    assert shown.body["message"].endswith("- 2 rows")


def test_user_defined_directives_need_no_pragma(client: DataPrepClient) -> None:
    folder = Path(client.instance.home.path) / "plugins" / client.namespace
    folder.mkdir(parents=True)
    (folder / "reverse-1.0.0.py").write_text(REVERSED)
    client.instance.cdap.artifacts.sync()
    id = client.upload("abc\n")
    shown = client.execute(id, "#pragma load-directives other;", "text-reverse :body")
    assert shown.status == 200, shown.body
    assert shown.body["values"] == [{"body": "cba"}]
    assert client.call("GET", f"workspaces/{id}").body["directives"] == [
        "#pragma load-directives text-reverse;",
        "text-reverse :body",
    ]
    # The workspace runs its own recipe again.
    kept = client.call("GET", f"workspaces/{id}").body["directives"]
    assert client.execute(id, *kept).body["values"] == [{"body": "cba"}]
    listed = client.call("GET", "directives").body
    scopes = {each["directive"]: each["scope"] for each in listed["values"]}
    assert (scopes["text-reverse"], scopes["drop"]) == ("USER", "SYSTEM")
    assert listed["count"] == len(scopes)
    usages = {each["directive"]: each["arguments"] for each in listed["values"]}
    assert {name: each["directive"] for name, each in usages.items()} == {n: n for n in usages}
    wanted = {
        "text-reverse": [(0, False, "column", "COLUMN_NAME")],
        "parse-as-csv": [
            (0, False, "col", "COLUMN_NAME"),
            (1, True, "delimiter", "TEXT"),
            (2, True, "header", "BOOLEAN"),
        ],
        "filter-row": [(0, False, "condition", "EXPRESSION"), (1, True, "type", "BOOLEAN")],
        "quantize": [
            (0, False, "source", "COLUMN_NAME"),
            (1, False, "destination", "COLUMN_NAME"),
            (2, False, "ranges", "RANGES"),
        ],
    }
    keys = ("ordinal", "optional", "name", "type")
    for name, tokens in wanted.items():
        assert [tuple(token[key] for key in keys) for token in usages[name]["tokens"]] == tokens
    assert usages["set-type"]["tokens"][-1]["label"] == "prop:{precision=<precision>}"
    elsewhere = DataPrepClient(client.instance, "default")
    names = {each["directive"] for each in elsewhere.call("GET", "directives").body["values"]}
    assert "text-reverse" not in names


def test_a_recipe_of_the_library_is_applied(client: DataPrepClient) -> None:
    recipe = {"recipeName": "Split", "description": "", "directives": list(SPLIT)}
    made = client.call("POST", "recipes", recipe).body["recipeId"]["recipeId"]
    id = client.upload(PEOPLE)
    body = {"directives": ["uppercase :body"], "limit": 1000}
    shown = client.call("POST", f"workspaces/{id}/applyRecipe/{made}", body).body
    assert [each["fname"] for each in shown["values"]] == ["ROOT", "JOLTIE"]
    assert client.call("GET", f"workspaces/{id}").body["directives"] == ["uppercase :body", *SPLIT]
    missing = client.call("POST", f"workspaces/{id}/applyRecipe/none", body)
    assert (missing.status, missing.body["message"]) == (
        404,
        "recipe with id 'none' does not exist",
    )


def test_the_specification_is_a_wrangler_stage(client: DataPrepClient) -> None:
    id = client.upload(PEOPLE)
    client.execute(id, *SPLIT)
    found = client.call("GET", f"workspaces/{id}/specification").body
    assert found["sources"] == []
    stage = found["wrangler"]["plugin"]
    assert (stage["name"], stage["type"]) == ("Wrangler", "transform")
    assert stage["properties"] == {
        "directives": "\n".join(SPLIT),
        "field": "*",
        "precondition": "false",
        "workspaceId": id,
    }
    assert stage["artifact"]["name"] == "wrangler-transform"
    assert stage["artifact"]["scope"] == "system"
    fields = [each["name"] for each in found["wrangler"]["schema"]["fields"]]
    assert fields == ["fname", "body_2", "body_3", "body_4", "body_5"]


def test_samples_need_a_connection(client: DataPrepClient) -> None:
    for body, message in (
        ({}, "Connection name has to be provided to create a workspace"),
        ({"connection": "c"}, "Sample request has to be provided to create a workspace"),
    ):
        answer = client.call("POST", "workspaces", body)
        assert (answer.status, answer.body["message"]) == (400, message)
    id = client.upload("a")
    answer = client.call("POST", f"workspaces/{id}/resample", {"sampleRequest": {}})
    assert answer.body["message"] == "Connection name has to exist to resample a workspace"


def test_rows_are_looked_up_in_tables_of_the_namespace(client: DataPrepClient) -> None:
    statements = [
        "CREATE TABLE towns (key VARCHAR, since INTEGER)",
        "INSERT INTO towns VALUES ('Rome', -753)",
    ]
    client.instance.cdap.table_statements.carry_out(
        StatementBatch(client.namespace, statements, ["towns"])
    )
    id = client.upload("Rome\nOslo\n")
    answer = client.execute(id, "table-lookup :body 'towns'")
    assert answer.status == 200, answer.body
    assert answer.body["values"] == [{"body": "Rome", "body_since": "-753"}, {"body": "Oslo"}]
    assert answer.body["types"] == {"body": "String", "body_since": "String"}
    missing = client.execute(id, "table-lookup :body 'nowhere'")
    assert missing.status == 400
    assert "there is no table 'nowhere'; available: towns" in missing.body["message"]
