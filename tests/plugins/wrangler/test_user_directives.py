"""User-defined directives: dropped in, named by a recipe, checked and run."""

from __future__ import annotations

import json

import pytest

from localcdap.apps.model import AppRequest
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.preview.model import PreviewRequest
from localcdap.testing.instance import TemporaryInstance

REVERSE = """
from localcdap.api.directive import Directive, Row, RowContext, argument, plugin


@plugin(type="directive", name="text-reverse", description="Reverses a text.")
class Reverse(Directive):
    column: str = argument.column("The column whose text is reversed.")

    def change(self, row: Row, context: RowContext) -> None:
        value = row.value(self.column)
        if isinstance(value, str):
            row.put(self.column, value[::-1])
"""

APPLICATION = """
from localcdap.api import Schema
from localcdap.api.app import NamespaceSummary, SystemApplication, SystemService, application, post

TEXT = Schema.record("t", [("body", Schema.STRING)])


class Recipes(SystemService):
    name = "recipes"

    @post("/contexts/{context}/execute")
    def execute(self, context: NamespaceSummary, body: list[dict]) -> dict:
        properties = {
            "directives": "text-reverse :body; send-to-error exp:{body == 'dab'} 'it is bad'",
            "udd": "text-reverse",
            "schema": str(TEXT),
            "field": "*",
        }
        wrangler = self.context.plugin(context.name, "transform", "Wrangler", properties)
        assert wrangler.configure({"in": TEXT}).failures == []
        done = wrangler.transform(body, TEXT)
        return {
            "records": [each["body"] for each in done.records],
            "errors": [each.message for each in done.errors],
            "directives": [each["directive"] for each in wrangler.call_method("directives")],
        }


@application(name="recipes", description="Runs recipes on rows.")
class RecipeApplication(SystemApplication):
    services = [Recipes]
"""
SCHEMA = json.dumps({"type": "record", "name": "t", "fields": [{"name": "body", "type": "string"}]})
OUT = json.dumps(
    {"type": "record", "name": "t", "fields": [{"name": "body", "type": ["string", "null"]}]}
)


def document(**properties: str) -> dict:
    wrangle = {"field": "*", "schema": OUT, **properties}
    read = {"path": "in.txt", "format": "text", "schema": SCHEMA, "referenceName": "r"}
    write = {"path": "out", "format": "csv", "referenceName": "w"}
    stages = [
        ("read", "batchsource", "File", read),
        ("wrangle", "transform", "Wrangler", wrangle),
        ("write", "batchsink", "File", write),
    ]
    return {
        "name": "udd",
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.0", "scope": "SYSTEM"},
        "config": {
            "stages": [
                {"name": name, "plugin": {"type": type, "name": plugin, "properties": given}}
                for name, type, plugin, given in stages
            ],
            "connections": [
                {"from": "read", "to": "wrangle"},
                {"from": "wrangle", "to": "write"},
            ],
        },
    }


def messages(instance: TemporaryInstance, **properties: str) -> list[str]:
    found = instance.cdap.studio.validate_pipeline(PipelineRequest(document(**properties)))
    return [failure.message for failure in found.errors]


@pytest.fixture
def instance(cdap_instance: TemporaryInstance) -> TemporaryInstance:
    folder = cdap_instance.home.path / "plugins"
    folder.mkdir()
    (folder / "text-reverse-1.0.0.py").write_text(REVERSE)
    return cdap_instance


def test_a_directive_must_be_named_before_it_is_used(instance):
    assert messages(instance, directives="text-reverse :body") == [
        "Recipe, line 1, column 1: there is no directive 'text-reverse'."
    ]
    assert messages(instance, directives="text-reverse :body", udd="text-reverse") == []
    assert (
        messages(instance, directives="#pragma load-directives text-reverse;\ntext-reverse :body;")
        == []
    )


def test_its_arguments_are_checked_as_those_of_others(instance):
    (reported,) = messages(instance, directives="text-reverse 'x' 3", udd="text-reverse")

    assert reported == "Recipe, line 1, column 14: 'column' must be a column, not a text."


def test_one_that_is_not_there_is_reported_with_its_place(instance):
    assert messages(instance, directives="uppercase :body", udd="nothing") == [
        "User Defined Directive 'nothing' is not deployed or is not available."
    ]
    (reported,) = messages(
        instance, directives="uppercase :body\n#pragma load-directives nothing;\nnothing 3;"
    )

    assert "line 2" in reported
    assert "'nothing' is not here" in reported


@pytest.mark.spark
def test_how_a_recipe_would_run_is_explained_without_running_it(instance, engine):
    (instance.home.path / "in.txt").write_text("abc\n")
    given = document(directives="uppercase :body\ntext-reverse :body", udd="text-reverse")
    previews = instance.cdap.previews
    preview = previews.start(PreviewRequest(given, explains=True))
    while not preview.status.is_end:
        preview = previews.wait("default", preview.preview, preview.version, 5.0)

    assert preview.error is None
    assert preview.explained == {
        "read": ["native"],
        "wrangle": [
            "native  uppercase :body",
            "batch   text-reverse :body  (there is no Spark form of it)",
        ],
        "write": ["native"],
    }
    assert not (instance.home.path / "out").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_it_runs_in_sparks_workers(instance, engine):
    (instance.home.path / "in.txt").write_text("abc\nxyz\n")
    recipe = "text-reverse :body\nuppercase :body"
    run = instance.run(document(directives=recipe, udd="text-reverse"))

    assert run.error is None
    written = sorted(
        line
        for file in (instance.home.path / "out").glob("part-*")
        for line in file.read_text().splitlines()
    )
    assert written == ["CBA", "ZYX"]


def call(instance: TemporaryInstance, method: str, request: object = None, **properties: str):
    plugin = MethodPlugin("transform", "Wrangler", properties=properties)
    return instance.cdap.methods.call(MethodCall(plugin, method, request)).answer


@pytest.mark.slow
def test_methods_know_user_defined_directives(instance):
    listed = {each["directive"]: each for each in call(instance, "directives")}
    pragma = call(
        instance,
        "check",
        {"recipe": "#pragma load-directives text-reverse;\ntext-reverse :body"},
    )
    named = call(instance, "check", {"recipe": "text-reverse :body"}, udd="text-reverse")
    unknown = call(instance, "check", {"recipe": "text-reverse :body"})
    proposed = call(
        instance,
        "propose-schema",
        {"schema": json.loads(SCHEMA), "records": [{"body": "abc"}]},
        directives="text-reverse :body",
        udd="text-reverse",
    )

    assert listed["text-reverse"]["scope"] == "USER"
    assert listed["text-reverse"]["usage"] == "text-reverse :column"
    assert listed["drop"]["scope"] == "SYSTEM"
    assert (pragma["problems"], named["problems"]) == ([], [])
    assert len(unknown["problems"]) == 1
    assert proposed["records"] == [{"body": "cba"}]


@pytest.mark.slow
def test_system_applications_use_recipes_with_user_defined_directives(instance):
    folder = instance.home.path / "plugins" / "system"
    folder.mkdir()
    (folder / "recipes-1.0.0.py").write_text(APPLICATION)
    instance.cdap.artifacts.sync()
    rows = [{"body": "abc"}, {"body": "bad"}]

    answer = instance.cdap.apps.call(
        "recipes", AppRequest("POST", "/contexts/default/execute", body=rows)
    )

    assert answer.status == 200, answer.body
    assert answer.body["records"] == ["cba"]
    assert answer.body["errors"] == ["it is bad (ecode: 1, directive: send-to-error)"]
    assert {"text-reverse", "send-to-error"} <= set(answer.body["directives"])
