"""Schemas, documentation, trials, previews and repairs of a stage."""

from __future__ import annotations

import json
from typing import Any

import pytest
from textual.screen import Screen
from textual.widgets import Markdown

from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import RejectedRecord, StageSample
from localcdap.pipeline.editing.edits import SetProperty
from localcdap.runs.preview.model import Preview, PreviewStatus
from localcdap.tui.inspector.plugin_details import MethodDialog, format_template
from localcdap.tui.inspector.preview.debug_pane import DebugPane
from localcdap.tui.inspector.preview.sample_view import PreviewPane, SampleView
from localcdap.tui.inspector.properties.controls import LineControl, ValueArea
from localcdap.tui.inspector.properties.form import MethodButton
from localcdap.tui.inspector.tabs import TextLines
from localcdap.tui.widgets.lines import CachedStatic
from tests.tui.inspector.bench import inspecting, pipeline
from tests.tui.inspector.test_form import SCHEMA, SOURCE

SCRIPT = """function transform(input, emitter, context) {
  if (input.price < 0) { throw 'negative'; }
  if (input.price > 100) {
    emitter.emitError({'errorCode': 3, 'errorMsg': 'dear', 'invalidRecord': input}); return;
  }
  input.price = input.price * 2;
  emitter.emit(input);
}"""
DOCUMENT = pipeline(
    "File:batchsource JavaScript:transform Trash:batchsink",
    File=SOURCE,
    JavaScript={"script": SCRIPT},
    Trash={"referenceName": "out"},
)


def lines_of(b, id) -> list[str]:
    return [line.plain for line in b.inspector.query_one(id, TextLines).texts]


@pytest.mark.slow
async def test_schemas_follow_what_is_typed(cdap, home):
    document = pipeline(
        "File:batchsource Projection:transform Trash:batchsink", File=SOURCE, Trash={}
    )
    async with inspecting(cdap, home, document, "Projection") as b:
        b.inspector.open_tab("schema")
        await b.settled()
        assert lines_of(b, "#schema-in") == ["  id     long", "  name   string?", "  price  double"]
        b.editor.apply(SetProperty("Projection", "convert", "price:string"))
        b.editor.apply(SetProperty("Projection", "rename", "name:who"))
        b.editor.apply(SetProperty("Projection", "drop", "id"))
        await b.settled()
        assert lines_of(b, "#schema-out") == [
            "+ who    string?",
            "~ price  string  was double",
            "- id     long",
            "- name   string?",
        ]


async def test_documentation(cdap, home):
    async with inspecting(cdap, home, DOCUMENT, "JavaScript") as b:
        b.inspector.open_tab("docs")
        await b.settled()
        text = b.inspector.query_one(Markdown).source
        assert text.startswith("# JavaScript")
        assert "| `script` | string, required |" in text
        b.editor.select("Trash")
        await b.settled()
        assert b.inspector.query_one(Markdown).source.startswith("# Trash")


async def test_a_stage_is_tried_on_what_is_typed(cdap, home):
    async with inspecting(cdap, home, DOCUMENT, "JavaScript") as b:
        b.inspector.open_tab("try")
        await b.settled()
        pane = b.inspector.query_one(DebugPane)
        pane.query_one("ValueArea").focus()
        await b.driver.type("id,name,price\n1,ada,2.5\n2,,500\n3,x,-1")
        await b.driver.press("f9")
        await b.driver.until(lambda: pane.answer is not None)
        await b.settled()
        answer = pane.answer
        assert answer.output.records == [{"id": 1, "name": "ada", "price": 5.0}]
        assert [(e.code, e.message) for e in answer.error_records] == [(3, "dear")]
        assert answer.errors[0].record == 3
        view = pane.query_one(SampleView)
        assert view.sheets[0].label == "records"  # both are shown, the good ones and the bad ones
        await b.driver.until(lambda: view.rejected.note.startswith("1 record"))
        assert view.table.display
        assert view.rejected.display
        assert "dear" in list(view.rejected.grid.get_column_at(0))

        b.editor.select("Trash")  # what was typed and what came of it stays
        await b.settled()
        b.editor.select("JavaScript")
        await b.settled()
        assert pane.query_one(ValueArea).text.startswith("id,name,price")
        assert pane.answer is answer

        pane.query_one(ValueArea).load_text('{"id": "x"')
        await b.driver.press("f9")
        state = pane.query_one(".state", CachedStatic)
        assert "not valid JSON" in str(state.cached_content)
        pane.query_one(ValueArea).load_text('{"id": "x"}')
        await b.driver.press("f9")
        await b.driver.until(
            lambda: "do not fit" in str(pane.query_one(".state", CachedStatic).cached_content)
        )


async def test_an_old_error_goes_when_the_stage_runs_again(cdap, home):
    async with inspecting(cdap, home, DOCUMENT, "JavaScript") as b:
        b.inspector.open_tab("try")
        await b.settled()
        pane = b.inspector.query_one(DebugPane)
        problems = pane.query_one(SampleView).query_one(".problems", CachedStatic)
        state = pane.query_one("DebugPane > .state", CachedStatic)
        pane.query_one(ValueArea).load_text('{"id": 3, "name": "x", "price": -1}')
        await b.driver.press("f9")
        await b.driver.until(lambda: "negative" in problems.cached_content.plain)
        pane.query_one(ValueArea).load_text('{"id": ')
        await b.driver.press("f9")
        assert "not valid JSON" in state.cached_content.plain
        assert not problems.display
        pane.query_one(ValueArea).load_text('{"id": 1, "name": "ada", "price": 2.5}')
        await b.driver.press("f9")
        await b.driver.until(lambda: pane.answer is not None)
        assert state.cached_content.plain == ""


CHAIN = pipeline(
    "File:batchsource CSVParser:transform JavaScript:transform Trash:batchsink",
    File={"path": "${folder}/lines.txt", "format": "text", "referenceName": "lines"},
    CSVParser={
        "format": "DEFAULT",
        "field": "body",
        "schema": SCHEMA,
    },
    JavaScript={"script": SCRIPT},
)


@pytest.mark.slow
@pytest.mark.spark
async def test_a_stage_is_tried_on_what_comes_from_the_stages_before(
    cdap, home, tmp_path, engine_directory
):
    (tmp_path / "lines.txt").write_text("1,ada,2.5\n2,bea,500\n")
    async with inspecting(cdap, home, CHAIN, "JavaScript") as b:
        await b.driver.press("f9")
        await b.driver.until(lambda: b.app.screen.query("ArgumentRow"))
        await b.driver.type(str(tmp_path))
        await b.driver.pilot.press("ctrl+r")
        pane = b.inspector.query_one(DebugPane)
        await b.driver.until(lambda: pane.answer is not None, 120)
        assert [each["name"] for each in pane.answer.output.records] == ["ada"]
        assert [each.message for each in pane.answer.error_records] == ["dear"]
        assert '"name": "bea"' in pane.query_one(ValueArea).text

        (tmp_path / "lines.txt").write_text("7,eve,1.0\n")
        before = pane.answer
        await b.driver.pilot.press("f9")  # what was read is used again …
        await b.driver.until(lambda: pane.answer is not before, 120)
        assert [each["name"] for each in pane.answer.output.records] == ["ada"]
        b.editor.apply(SetProperty("File", "referenceName", "others"))
        await b.settled()
        before = pane.answer
        await b.driver.pilot.press("f9")  # … until a stage before it changes
        await b.driver.until(lambda: pane.answer is not before, 120)
        assert [each["name"] for each in pane.answer.output.records] == ["eve"]


@pytest.mark.slow
async def test_a_schema_that_records_propose_is_taken(cdap, home):
    document = pipeline(
        "File:batchsource Wrangler:transform Trash:batchsink",
        File=SOURCE,
        Wrangler={"directives": "parse-as-csv :name ';' false"},
    )
    async with inspecting(cdap, home, document, "Wrangler") as b:
        b.inspector.open_tab("try")
        await b.settled()
        b.inspector.query_one("DebugPane ValueArea", ValueArea).load_text(
            '{"id": 1, "name": "a;b", "price": 1}'
        )
        await b.driver.press("f8")
        await b.driver.type("propose")
        await b.driver.press("enter")
        dialog: Screen[Any] = b.app.screen
        assert isinstance(dialog, MethodDialog)
        await b.driver.until(lambda: '"a;b"' in dialog.query(ValueArea).first().text)
        await b.driver.press("f9")
        await b.driver.until(lambda: dialog.answer)
        await b.driver.press("f5")
        await b.settled()

        schema = Schema.parse(b.editor.get_properties("Wrangler")["schema"])
        assert list(schema.field_names) == ["id", "name", "price", "name_1", "name_2"]


async def test_records_for_a_preview_come_from_the_schema(cdap, home):
    async with inspecting(cdap, home, DOCUMENT, "JavaScript") as b:
        b.inspector.open_tab("try")
        await b.settled()
        pane = b.inspector.query_one(DebugPane)
        pane.query_one("ValueArea").focus()
        await b.driver.press("f3", "down", "enter")
        await b.settled()
        made = json.loads(pane.query_one(ValueArea).text)
        assert len(made) == 10
        assert list(made[0]) == ["id", "name", "price"]


def preview(**more) -> Preview:
    return Preview("p", "default", "pipeline", PreviewStatus.RUNNING, 1, **more)


async def test_records_of_a_preview_come_as_they_are_there(cdap, home):
    async with inspecting(cdap, home, DOCUMENT, "JavaScript") as b:
        b.inspector.open_tab("preview")
        await b.settled()
        pane = b.inspector.query_one(PreviewPane)
        view = pane.query_one(SampleView)
        assert "No preview yet" in view.table.note
        pane._take(preview())
        await b.settled()
        assert "has not reached this stage yet" in view.table.note
        sample = StageSample(
            None, [{"id": 1}], [RejectedRecord({"id": 2}, 3, "bad")], count=7, error_count=1
        )
        sample.alerts, sample.alert_count = [{"who": "bob", "age": "7"}], 5
        pane._take(preview(stages={"JavaScript": sample}))
        await b.driver.until(lambda: view.table.note.startswith("1 record"))
        assert "the first of 7" in view.table.note
        await b.driver.until(lambda: view.rejected.note.startswith("1 record"))
        assert list(view.rejected.grid.get_column_at(0)) == ["bad"]
        assert pane.get_records("JavaScript") == [{"id": 1}]
        view.action_next_sheet()
        await b.driver.until(lambda: "the first of 5" in view.table.note)
        assert list(view.table.grid.get_column_at(0)) == ["who=bob, age=7"]


async def test_a_missing_plugin_is_exchanged_with_a_key(cdap, home):
    document = json.loads(json.dumps(DOCUMENT))
    document["config"]["stages"][1]["plugin"]["artifact"] = {
        "name": "core-plugins",
        "version": "0.0.1",
        "scope": "SYSTEM",
    }
    async with inspecting(cdap, home, document, "JavaScript") as b:
        assert b.inspector.plugin is None
        assert b.form.fields["script"].text == SCRIPT  # kept, as plain text
        assert "f6 uses core-plugins" in str(
            b.inspector.query_one(".banner", CachedStatic).cached_content
        )
        await b.driver.press("f6")
        await b.settled()
        assert b.inspector.plugin is not None
        assert b.inspector.state.errors == []
        await b.driver.press("f6")  # now it offers what there is
        await b.driver.press("enter")
        await b.settled()
        assert b.inspector.state.errors == []


@pytest.mark.slow
async def test_a_plugin_is_asked(cdap, home):
    folder = home.path / "plugins"
    folder.mkdir(exist_ok=True)
    (folder / "asker-1.0.0.py").write_text(
        """
import msgspec
from localcdap.api import PluginConfig, Transform, field, plugin
from localcdap.api.methods import plugin_method

class Ask(msgspec.Struct):
    database: str
    limit: int = 3

@plugin(type="transform", name="Asker", description="Can be asked.")
class Asker(Transform):
    class Config(PluginConfig):
        host: str = field("A host.", secret=True)

    @plugin_method("list-tables", "The tables of a database.")
    def list_tables(self, request: Ask) -> list[str]:
        return [f"{self.config.host}.{request.database}.{n}" for n in range(request.limit)]
"""
    )
    cdap.artifacts.sync()
    cdap.secure_keys.put("default", "dbpass", "s3cret")
    document = pipeline("Asker:transform", Asker={"host": "db"})
    async with inspecting(cdap, home, document, "Asker") as b:
        field = b.form.fields["host"]
        assert isinstance(field.control, LineControl)
        assert field.control.password
        assert field.explain_disabled("editor") == "a secret is not written into a file"
        b.form.go_to("host")
        await b.driver.press("f2")
        await b.driver.type("use secure")
        await b.driver.press("enter")
        await b.settled()
        assert b.editor.get_properties("Asker")["host"] == "${secure(dbpass)}"
        assert not field.control.password  # a macro is not a secret
        b.editor.undo()
        await b.settled()
        assert field.control.password
        button = b.form.query_one(MethodButton)
        button.focus()
        await b.driver.press("enter")
        dialog: Screen[Any] = b.app.screen
        assert isinstance(dialog, MethodDialog)
        await b.driver.press("f9")
        await b.driver.until(lambda: dialog.answer)
        assert json.loads(dialog.answer) == ["db..0", "db..1", "db..2"]
        await b.driver.press("escape", "f8")
        assert isinstance(b.app.screen, MethodDialog)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "{}"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"type": "string"}}}}},
            '{\n  "a": ""\n}',
        ),
    ],
)
def test_a_request_to_fill_in(schema, text):
    assert format_template(schema) == text
