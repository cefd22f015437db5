"""The form on real services: typing, failures beside fields, edits from elsewhere, garbage."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.pipeline.editing.edits import RenameStage, SetProperties, SetProperty
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.inspector.properties.completion import PropertyAutoComplete
from localcdap.tui.inspector.properties.controls import AreaControl, LineControl, Toggle
from localcdap.tui.inspector.properties.field_plan import ControlKind
from localcdap.tui.inspector.properties.list_control import ListControl
from tests.tui.inspector.bench import inspecting, pipeline

SCHEMA = (
    '{"type":"record","name":"etlSchemaBody","fields":['
    '{"name":"id","type":"long"},{"name":"name","type":["string","null"]},'
    '{"name":"price","type":"double"}]}'
)
SOURCE = {"referenceName": "in", "path": "in.csv", "format": "csv", "schema": SCHEMA}


def document(**more):
    given = {"File": SOURCE, "Trash": {"referenceName": "out"}, **more}
    return pipeline("File:batchsource Projection:transform Trash:batchsink", **given)


@pytest.fixture
def bench(cdap, home):
    return lambda stage="Projection", doc=None, **more: inspecting(
        cdap, home, doc or document(), stage, **more
    )


async def test_what_is_typed_is_an_edit_and_its_failure_stands_beside_it(bench):
    async with bench("File") as b:
        await b.type_into("sampleSize", "abc")
        assert b.editor.get_properties("File")["sampleSize"] == "abc"
        (failure,) = b.form.fields["sampleSize"].failures
        assert "must be a whole number, not 'abc'" in failure.message
        for _ in "abc":
            await b.driver.press("backspace")
        await b.settled()
        assert "sampleSize" not in b.editor.get_properties("File")  # nothing is not a property
        assert not b.form.fields["sampleSize"].failures


@pytest.mark.slow
async def test_a_macro_may_stand_in_a_number_field(bench):
    async with bench("File") as b:
        await b.type_into("sampleSize", "${n}")
        assert b.editor.get_properties("File")["sampleSize"] == "${n}"
        assert not b.form.fields["sampleSize"].failures


@pytest.mark.slow
async def test_a_text_that_is_longer_than_its_line_is_seen(bench):
    async with bench("File", size=(80, 30)) as b:
        await b.type_into(
            "path", "/data/in/a/folder/with/a/very/long/name/of/which/the/end/is/seen"
        )
        region = b.form.fields["path"].control.region
        (strip,) = b.app.screen._compositor.render_strips()[region.y : region.bottom]
        assert "the/end/is/seen" in strip.text


@pytest.mark.slow
async def test_typing_goes_on_while_changes_arrive(bench):
    async with bench("File") as b:
        b.form.go_to("path")
        await b.driver.pilot.press("home")
        for place, letter in enumerate("/data/"):
            await b.driver.pilot.press("slash" if letter == "/" else letter)
            b.editor.apply(SetProperty("File", "delimiter", f"{place}"))
            if place % 2:
                b.form.flush()  # some letters are sent, some are on their way
        line = b.form.fields["path"].control
        assert (line.value, line.cursor_position, line.has_focus) == ("/data/in.csv", 6, True)
        await b.settled()
        assert (line.value, line.cursor_position, line.has_focus) == ("/data/in.csv", 6, True)
        assert b.editor.get_properties("File")["path"] == "/data/in.csv"
        assert b.form.fields["delimiter"].text == "5"


async def test_what_is_typed_is_one_step_of_undo(bench):
    async with bench("File") as b:
        await b.type_into("path", "xyz")
        assert b.editor.get_properties("File")["path"] == "in.csvxyz"
        b.editor.undo()
        await b.settled()
        assert b.editor.get_properties("File")["path"] == "in.csv"
        assert b.form.fields["path"].control.value_text == "in.csv"
        assert not b.editor.can_undo


async def test_leaving_a_stage_loses_nothing(bench):
    async with bench("File") as b:
        b.form.go_to("path")
        await b.driver.pilot.press("end", "x")
        b.editor.select("Trash")
        await b.settled()
        assert b.editor.get_properties("File")["path"] == "in.csvx"
        assert list(b.form.fields) == ["referenceName"]


async def test_what_was_typed_a_moment_ago_is_sent_too(bench):
    async with bench("File") as b:
        line = b.form.fields["path"].control
        line.value = "just now"  # its message is still on its way
        b.inspector.flush()
        assert b.editor.get_properties("File")["path"] == "just now"


async def test_stages_with_one_plugin_share_a_form_and_nothing_else(bench):
    document_of_two = document()
    second = {"name": "Other", "plugin": {"name": "File", "type": "batchsource"}}
    document_of_two["config"]["stages"].append(second)
    async with bench("File", document_of_two) as b:
        field = b.form.fields["path"]
        field.control.value = "first"
        b.editor.select("Other")
        await b.settled()
        assert b.form.fields["path"] is field
        assert field.control.value_text == ""
        await b.type_into("path", "second")
        assert b.editor.get_properties("File")["path"] == "first"
        assert b.editor.get_properties("Other") == {"path": "second"}


async def test_a_renamed_stage_goes_on_being_edited(bench):
    async with bench("File") as b:
        b.form.go_to("path")
        await b.driver.pilot.press("end", "x")
        b.editor.apply(RenameStage("File", "Source"))
        await b.driver.pilot.press("y")
        await b.settled()
        assert b.editor.get_properties("Source")["path"] == "in.csvxy"
        assert b.inspector.stage == "Source"


@pytest.mark.slow
async def test_a_list_is_a_table_whose_wrong_rows_are_marked(bench):
    async with bench() as b:
        field = b.form.fields["rename"]
        assert field.kind is ControlKind.LIST
        await b.type_into("rename", "nope\tother")
        assert b.editor.get_properties("Projection")["rename"] == "nope:other"
        assert field.failures[0].element == "nope:other"
        control = field.control
        assert isinstance(control, ListControl)
        assert len(control.elements) == 2  # there is always an empty row
        await b.driver.press("enter")
        await b.driver.type("name\twho")
        await b.settled()
        assert b.editor.get_properties("Projection")["rename"] == "nope:other,name:who"
        await b.driver.press("alt+up")
        await b.settled()
        assert b.editor.get_properties("Projection")["rename"] == "name:who,nope:other"
        await b.driver.press("alt+d")
        await b.settled()
        assert b.editor.get_properties("Projection")["rename"] == "nope:other"
        for text in ("a:b,c:d,e:f,g:h", "a:b"):
            field.set(text)
            await b.settled()
            rows = [each.row for each in control.elements]
            assert rows == [*(tuple(e.split(":")) for e in text.split(",")), ("", "")]


async def test_fields_of_the_input_are_offered(bench):
    async with bench() as b:
        b.form.go_to("keep")
        await b.driver.type("pr")
        completion = b.app.screen.query_one(PropertyAutoComplete)
        await b.driver.until(lambda: completion.option_list.option_count)
        assert [o.value for o in completion.option_list.options] == ["price"]
        await b.driver.press("enter")
        await b.settled()
        assert b.editor.get_properties("Projection")["keep"] == "price"
        assert b.editor.get_state("Projection").output_schema.field_names == ["price"]


@pytest.mark.slow
async def test_macros_are_offered_behind_their_bracket(bench, cdap):
    cdap.preferences.replace(PreferenceLevel("default"), {"folder": "/data"})
    cdap.secure_keys.put("default", "pass", "s3cret")
    async with bench("File") as b:
        b.editor.set_arguments({"day": "monday"})
        await b.settled()
        await b.type_into("path", "/${")
        completion = b.form.fields["path"].auto_complete
        offered = [o.value for o in completion.option_list.options]
        assert {"day", "folder", "secure(pass)", "logicalStartTime(yyyy-MM-dd)"} <= set(offered)
        await b.driver.type("fol")
        await b.driver.press("tab")
        await b.settled()
        assert b.editor.get_properties("File")["path"] == "in.csv/${folder}"


@pytest.mark.slow
async def test_choices_drop_down(bench):
    async with bench("File") as b:
        b.form.go_to("format")
        await b.settled()
        await b.driver.press("down")
        completion = b.form.fields["format"].auto_complete
        assert completion.display
        assert completion.option_list.size.height == completion.option_list.option_count > 8
        await b.driver.press("down", "enter")
        await b.settled()
        assert b.editor.get_properties("File")["format"] == "blob"
        b.editor.select("Trash")
        await b.settled()
        assert not b.app.screen.query(PropertyAutoComplete)


async def test_a_tab_is_opened_while_something_is_typed(bench):
    async with bench("File") as b:
        await b.type_into("path", "x")
        await b.driver.press("ctrl+pagedown")
        assert b.inspector.query_one("TabbedContent").active == "tab-schema"
        await b.driver.press("right_square_bracket", "left_square_bracket", "left_square_bracket")
        assert b.inspector.query_one("TabbedContent").active == "tab-properties"


@pytest.mark.slow
async def test_the_menu_of_a_field(bench):
    async with bench("File") as b:
        b.form.go_to("path")
        await b.driver.press("f2")
        assert isinstance(b.app.screen, Chooser)
        await b.driver.type("remove")
        await b.driver.press("enter")
        await b.settled()
        assert "path" not in b.editor.get_properties("File")
        assert "Required property 'path' has no value." in [
            each.message for each in b.form.fields["path"].failures
        ]


async def test_the_menu_lists_values_first_and_macros_last(bench):
    async with bench("File") as b:
        b.form.go_to("format")
        await b.driver.press("f2")
        groups = [choice.group for choice in b.app.screen._choices]

        assert list(dict.fromkeys(groups)) == ["values", "value", "macros"]
        await b.driver.press("enter")
        await b.settled()
        assert b.editor.get_properties("File")["format"] == "avro"


@pytest.mark.slow
async def test_a_switch_and_a_macro_in_it(bench):
    async with bench("File") as b:
        b.form.go_to("skipHeader")
        await b.driver.press("space")
        await b.settled()
        assert b.editor.get_properties("File")["skipHeader"] == "true"
        await b.driver.press("delete")
        await b.settled()
        assert "skipHeader" not in b.editor.get_properties("File")
        await b.driver.type("$")
        field = b.form.fields["skipHeader"]
        await b.driver.until(lambda: isinstance(field.control, LineControl))
        assert field.control.value_text == "${}"
        await b.settled()
        b.editor.apply(SetProperty("File", "skipHeader", "true"))
        await b.settled()
        assert isinstance(b.form.fields["skipHeader"].control, Toggle)


async def test_a_schema_is_lines_and_what_is_no_schema_is_not_sent(bench):
    async with bench("File") as b:
        field = b.form.fields["schema"]
        control = field.control
        assert isinstance(control, AreaControl)
        assert control.text == "id long\nname string?\nprice double"
        b.form.go_to("schema")
        control.move_cursor(control.document.end)
        await b.driver.type("\nday dat")
        await b.settled()
        assert b.editor.get_properties("File")["schema"] == SCHEMA
        assert "line 4: There is no type 'dat'" in control.problem
        await b.driver.type("e?")
        await b.settled()
        schema = b.editor.get_state("Projection").input_schemas["File"]
        assert schema.field_names == ["id", "name", "price", "day"]
        assert control.cursor_location == (3, 9)


async def test_an_editor_outside(bench, monkeypatch):
    async with bench("File") as b:

        async def edited(text, suffix):
            assert (text, suffix) == ("in.csv", ".txt")
            return "two\nlines"

        monkeypatch.setattr(b.app, "edit_text", edited)
        b.form.go_to("path")
        await b.driver.press("f4")
        await b.settled()
        assert b.editor.get_properties("File")["path"] == "two\nlines"
        assert b.form.fields["path"].kind is ControlKind.CODE


GARBAGE = {
    "path": {"nested": [1, 2.5, None]},
    "schema": "{no schema",
    "skipHeader": "perhaps",
    "sampleSize": True,
    "format": None,
    "fileRegex": "\x1b[31mred\x07\ud800",
    "delimiter": "\t\n",
    "": "no name",
    "[bold]x[/] é\n": "[red]y",
    "fileEncoding": "x" * 5000,
    "referenceName": ["a", "b"],
}


@pytest.mark.slow
async def test_garbage_is_shown_and_stays_as_it_is(bench):
    async with bench("File", document(File=GARBAGE)) as b:
        assert set(GARBAGE) <= set(b.form.fields)
        before = b.editor.to_text()
        for name in GARBAGE:
            b.form.go_to(name)
            await b.driver.pilot.pause()
        assert "\x1b[31mred" not in str(b.app.export_screenshot())
        b.editor.select("Trash")
        await b.settled()
        assert b.editor.to_text() == before
        b.editor.select("File")
        await b.settled()
        await b.type_into("recursive", "t")
        expected = {**GARBAGE, "recursive": "true"}
        assert b.editor.get_properties("File") == expected


@pytest.mark.slow
@pytest.mark.parametrize("properties", [["text"], None])
async def test_properties_that_are_no_object(bench, properties):
    async with bench("File", document(File=properties)) as b:
        await b.type_into("path", "/x")
        assert b.editor.get_properties("File") == {"path": "/x"}


@pytest.mark.slow
async def test_other_properties_make_other_fields(bench):
    async with bench("File") as b:
        b.editor.apply(SetProperties("File", {"path": "/y", "new one": "z"}))
        await b.settled()
        assert b.form.fields["new one"].text == "z"
        assert b.form.fields["path"].control.value_text == "/y"
        assert b.form.fields["format"].control.value_text == ""
        (warning,) = b.form.fields["new one"].failures
        assert warning.is_warning


@pytest.mark.slow
async def test_the_properties_of_a_format_that_is_a_plugin_appear_with_it(bench, cdap, home):
    plugins = home.path / "plugins"
    plugins.mkdir(exist_ok=True)
    artifact = plugins / "pair-formats-1.0.0.py"
    artifact.write_bytes((Path(__file__).parents[2] / "plugins/core/pair_formats.py").read_bytes())
    cdap.artifacts.sync()
    try:
        async with bench("File", document(File=SOURCE | {"format": "Pairs"})) as b:
            await b.settled()
            assert "separator" in b.form.fields
            assert "|Pairs|Rows}" in (b.inspector._plugin.properties["format"].form or "")
            (failure,) = b.form.fields["separator"].failures
            assert "has no value" in failure.message
            b.editor.apply(SetProperty("File", "format", "csv"))
            await b.settled()
            assert "separator" not in b.form.fields
            b.editor.apply(SetProperty("File", "format", "Rows"))
            await b.settled()
            assert "rowTag" in b.form.fields
    finally:
        artifact.unlink()
        cdap.artifacts.sync()
