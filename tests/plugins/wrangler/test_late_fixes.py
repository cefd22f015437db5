"""What users of the original waited for long (its release notes name the numbers), as it works here."""

from __future__ import annotations

import json

import pytest

from localcdap.api.schema import Schema
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.pipeline.service import PipelineRequest
from localcdap.testing.instance import TemporaryInstance
from tests.plugin_lib.wrangler.directives.recipes import run
from tests.plugins.wrangler.test_user_directives import document

DOUBLE = """
from localcdap.api.directive import Directive, Expression, Row, RowContext, argument, plugin


@plugin(type="directive", name="compute", description="Puts the value of an expression into a column.")
class Compute(Directive):
    column: str = argument.column("The column for the value.")
    value: Expression = argument.expression("The value.")

    def change(self, row: Row, context: RowContext) -> None:
        row.put(self.column, self.value.compile()(dict(row)))
"""


@pytest.fixture
def instance(cdap_instance: TemporaryInstance) -> TemporaryInstance:
    folder = cdap_instance.home.path / "plugins"
    folder.mkdir()
    (folder / "compute-1.0.0.py").write_text(DOUBLE)
    return cdap_instance


def test_dq_failure_is_0_before_a_row_fails() -> None:  # PLUGIN-1736
    recipe = "send-to-error-and-continue exp:{a < 0}\nset-column :failed exp:{dq_failure}"
    assert run(recipe, {"a": 1}) == [{"a": 1, "failed": 0}]
    assert run(f"{recipe}\nsend-to-error exp:{{dq_failure > 0}}", {"a": 1}) == [
        {"a": 1, "failed": 0}
    ]


def test_parse_xml_to_json_keeps_texts() -> None:  # CDAP-20934
    row = {"body": "<a><b>007</b><c>true</c></a>"}
    assert run("parse-xml-to-json :body 2 true", row) == [{"body_a_b": "007", "body_a_c": "true"}]
    assert run("parse-xml-to-json :body 2", row)[0]["body_a_c"] is True


def test_directives_of_users_take_expressions_and_rows_keep_types(instance) -> None:
    """CDAP-21204; and PLUGIN-1778: the types come along from the process that runs the directives."""
    schema = Schema.record("r", [("n", Schema.INT), ("t", Schema.STRING)])
    recipe = "compute :m exp:{n * 2 + t.length()}\nset-column :d exp:{n / 2.0}"
    call = MethodCall(
        MethodPlugin("transform", "Wrangler", properties={"directives": recipe, "udd": "compute"}),
        "propose-schema",
        {"schema": json.loads(str(schema)), "records": [{"n": 20, "t": "ab"}]},
    )
    answer = instance.cdap.methods.call(call).answer
    assert answer["records"] == [{"n": 20, "t": "ab", "m": 42, "d": 10.0}]
    types = {each["name"]: each["type"] for each in answer["schema"]["fields"]}
    assert types["n"] in ("int", ["int", "null"])
    assert types["d"] in ("double", ["double", "null"])


@pytest.mark.slow
def test_a_condition_before_a_recipe_passes_the_schema_on(instance) -> None:  # CDAP-20890
    made = document(directives="uppercase :body")
    config = made["config"]
    plugin = {"type": "condition", "name": "Conditional", "properties": {"expression": "1 == 1"}}
    config["stages"].append({"name": "if", "plugin": plugin})
    config["stages"].append(
        {
            "name": "other",
            "plugin": {"type": "batchsink", "name": "Trash", "properties": {"referenceName": "t"}},
        }
    )
    config["connections"] = [
        {"from": "read", "to": "if"},
        {"from": "if", "to": "wrangle", "condition": "true"},
        {"from": "if", "to": "other", "condition": "false"},
        {"from": "wrangle", "to": "write"},
    ]
    assert instance.cdap.studio.validate_pipeline(PipelineRequest(made)).errors == []
    config["stages"][1]["plugin"]["properties"]["directives"] = "parse-as-csv :nowhere ','"
    found = instance.cdap.studio.validate_pipeline(PipelineRequest(made)).warnings
    assert any("nowhere" in each.message for each in found if each.stage == "wrangle")
