"""What front ends ask Wrangler: its directives, what is wrong with a recipe, the schema of a sample."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from wrangler_transform.wrangler import Wrangler

from localcdap.api import FailureCollector, Schema
from localcdap.api.arrow import RecordCodec
from localcdap.api.errors import BadRequestError
from localcdap.api.methods import find_plugin_methods
from localcdap.sandbox.plugin_calls import (
    TransformRequest,
    read_arrow_stream,
    to_arrow_stream,
    transform_records,
)
from localcdap.testing import artifact_ref
from tests.conftest import REPOSITORY

LINE = {"type": "record", "name": "line", "fields": [{"name": "body", "type": ["string", "null"]}]}


def ask(method: str, request: object = None, macros: Sequence[str] = (), **properties: str):
    failures = FailureCollector("stage")
    plugin = Wrangler(Wrangler.Config.build(properties, failures, macros))
    return find_plugin_methods(Wrangler)[method].call(plugin, request)


def test_the_directives_are_listed_with_what_an_editor_needs():
    found = {each["directive"]: each for each in ask("directives")}

    assert found["rename"]["usage"] == "rename :source :target"
    assert found["rename"]["categories"] == ["column"]
    assert [each["kind"] for each in found["rename"]["arguments"]] == ["column", "column"]
    assert all(each["description"] and each["examples"] for each in found.values())


def test_a_recipe_is_checked_with_places():
    answer = ask("check", {"recipe": "rename a b\nrenam c d"})

    assert answer["directives"] == ["rename a b"]
    (problem,) = answer["problems"]
    assert (problem["line"], problem["column"], problem["nearest"]) == (2, 1, "rename")


def test_sampled_records_propose_the_schema():
    lines = [{"body": "1,x"}, {"body": "2,y,3"}, {"body": 'broken"'}]
    answer = ask(
        "propose-schema",
        {"schema": LINE, "records": lines},
        directives="parse-as-csv :body ','\ndrop body\nset-type :body_1 integer",
    )

    schema = Schema.parse(json.dumps(answer["schema"]))
    assert schema.field_names == ["body_1", "body_2", "body_3"]
    assert schema.field("body_1").schema == Schema.INT.as_nullable
    assert answer["records"][1] == {"body_1": 2, "body_2": "y", "body_3": "3"}


def test_a_wrong_recipe_is_not_tried():
    with pytest.raises(BadRequestError, match="there is no directive 'renam'"):
        ask("propose-schema", {"schema": LINE, "records": []}, directives="renam a b")


def test_a_debug_run_gives_the_types_of_the_output_schema_as_a_run_does():
    schema = Schema.record("out", [("body", Schema.INT.as_nullable)])
    ref = artifact_ref(REPOSITORY / "plugins_dir" / "wrangler", "transform", "Wrangler")
    properties = {"field": "*", "directives": "set-type :body int", "schema": str(schema)}
    given = RecordCodec(Schema.parse(json.dumps(LINE)))
    batch = given.encode([{"body": "4"}, {"body": " "}, {"body": None}])

    done = transform_records(
        TransformRequest(ref, "clean", properties, given.schema, to_arrow_stream(batch))
    )

    made = RecordCodec(done.output_schema).decode(read_arrow_stream(done.records))
    assert made == [{"body": 4}, {"body": None}, {"body": None}]


SAMPLE = {"schema": LINE, "records": [{"body": "a"}, {"body": "b"}]}
RECIPE = "uppercase :body\nset-column :x '${x}'\nset-column :y 'y'"


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("propose-schema", SAMPLE),
        ("apply", {"job": "j", "task": {"input": {"path": "in.csv"}}}),
        ("export", {"language": "sql", "schema": LINE}),
        ("records", {"workspace": "w", "limit": 5}),
        ("match", {"workspace": "w", "other": "w", "directives": []}),
    ],
)
@pytest.mark.parametrize("name", ["directives", "precondition"])
def test_a_macro_without_a_value_is_refused(method: str, request_: object, name: str) -> None:
    properties = {"directives": "uppercase :body", name: RECIPE}
    with pytest.raises(BadRequestError, match=r"macros without values: \$\{x\}\."):
        ask(method, request_, [name], **properties)


def test_a_workspace_shows_the_rows_before_a_macro_and_tells_it() -> None:
    asked = {"workspace": "macros", "source": SAMPLE}
    view = ask("workspace", asked, ["directives"], directives=RECIPE)
    assert view["rows"] == [["A"], ["B"]]
    assert [each["directive"] for each in view["steps"]] == ["uppercase :body"]
    (problem,) = [each for each in view["problems"] if not each.get("is_warning")]
    assert (problem["message"], problem["line"]) == ("the macro ${x} has no value", 2)
    assert (
        "macro"
        in ask("workspace", asked, ["directives"], directives="set-column :x '${x")["problems"][-1][
            "message"
        ]
    )


def test_a_sample_has_the_rows_of_the_stage() -> None:
    found = ask("propose-schema", SAMPLE, directives="uppercase :body", precondition="body == 'a'")
    assert found["records"] == [{"body": "B"}]
    whole = ask("propose-schema", SAMPLE, field="#", directives="copy :line :copied")
    assert whole["records"][0]["copied"] == {"body": "a"}
    wrong = ask("propose-schema", SAMPLE, directives="set-column :n exp:{9223372036854775807 + 1}")
    assert (wrong["records"], len(wrong["errors"])) == ([], 2)
    with pytest.raises(BadRequestError, match="precondition in SQL"):
        ask("propose-schema", SAMPLE, preconditionLanguage="SQL", preconditionSQL="body = 'a'")
