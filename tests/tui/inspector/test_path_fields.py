"""Properties that are paths: completed, browsed, looked into, and the format and schema taken from a file."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Static

from localcdap.tui.inspector.properties.path_browser import PathBrowser
from tests.tui.inspector.bench import inspecting, pipeline

LINES = 'id;unit price;name\n1;2.5;"ada"\n2;3.5;bob\n'


@pytest.fixture(scope="module")
def folder(home):
    data = home.path / "incoming"
    (data / "daily").mkdir(parents=True)
    (data / "daily" / "sales.csv").write_text(LINES)
    (data / "daily" / "sound.bin").write_bytes(bytes(range(256)) * 4)
    (data / "orders.csv").write_text("id,name\n1,ada\n2,bob\n")
    (data / "orders.txt").write_text("a line\x1b[31m in red\nanother\n")
    return data


@pytest.fixture
def bench(cdap, home, folder):
    def open_stage(stage, **properties):
        document = pipeline("File:batchsource Trash:batchsink", File=properties, Trash={})
        return inspecting(cdap, home, document, stage)

    return open_stage


def properties_of(b):
    return b.editor.get_properties("File")


def peek_of(b) -> str:
    return "\n".join(
        str(each.content) for each in b.app.screen.query("#files-peek > Static").results(Static)
    )


def newest(b) -> str:
    return b.app.notices.newest_first[0].title


async def browse(b):
    b.form.go_to("path")
    await b.driver.press("f3")
    await b.driver.until(lambda: isinstance(b.app.screen, PathBrowser))
    await b.driver.settled()


async def test_a_path_completes_while_it_is_typed(bench):
    async with bench("File") as b:
        await b.type_into("path", "inc")
        field = b.form.fields["path"]
        await b.driver.until(lambda: field.auto_complete.option_list.option_count)
        await b.driver.press("tab")
        assert field.control.value == "incoming/"
        await b.driver.until(lambda: field.auto_complete.option_list.option_count == 3)
        await b.driver.type("ords")  # some letters of the name are enough
        assert [o.value for o in field.auto_complete.option_list.options] == [
            "orders.csv",
            "orders.txt",
        ]
        b.picture("path-completion")
        await b.driver.press("enter")
        await b.settled()
        assert properties_of(b)["path"] == "incoming/orders.csv"


@pytest.mark.slow
async def test_the_browser_goes_into_folders_and_shows_the_beginning_of_a_file(bench):
    async with bench("File") as b:
        await browse(b)
        await b.driver.type("incom")
        await b.driver.press("enter")
        await b.driver.press("down", "down", "down")
        await b.driver.until(lambda: "orders.txt" in peek_of(b))
        assert "text: its lines have no columns" in peek_of(b)
        assert "a line in red\nanother" in peek_of(b)  # without the colour
        await b.driver.press("up")
        await b.driver.until(lambda: "orders.csv" in peek_of(b))
        assert "csv: each line has 2 values between commas, the first line their names" in peek_of(
            b
        )
        b.picture("path-browser")
        await b.driver.press("enter")
        await b.settled()
        assert properties_of(b) == {"path": "incoming/orders.csv"}  # the path alone


async def test_a_binary_file_is_not_shown(bench):
    async with bench("File", path="incoming/daily/sound") as b:
        await browse(b)
        await b.driver.until(lambda: "binary" in peek_of(b))
        assert "blob" in peek_of(b)
        await b.driver.press("escape")
        assert properties_of(b) == {"path": "incoming/daily/sound"}


@pytest.mark.slow
async def test_one_key_takes_the_format_and_the_schema_and_one_undo_gives_them_back(bench):
    before = {"path": "incoming/daily/s", "format": "text", "copyHeader": "true"}
    async with bench("File", **before) as b:
        await browse(b)
        await b.driver.until(lambda: "sales.csv" in peek_of(b))
        await b.driver.press("ctrl+g")
        await b.settled()
        assert not b.form.fields["path"].auto_complete.display  # nothing was typed
        after = properties_of(b)
        schema = json.loads(after.pop("schema"))
        assert after == {
            "path": "incoming/daily/sales.csv",
            "format": "delimited",
            "delimiter": ";",
            "skipHeader": "true",
            "enableQuotedValues": "true",
        }
        # A name that no field may have is changed as for the output of the Wrangler.
        assert [(f["name"], f["type"]) for f in schema["fields"]] == [
            ("id", "int"),
            ("unit_price", "double"),
            ("name", "string"),
        ]
        assert "delimited: each line has 3 values" in newest(b)
        b.picture("path-format")
        b.editor.undo()
        await b.settled()
        assert properties_of(b) == before


async def test_get_schema_fills_the_schema_of_a_source(bench):
    given = {
        "referenceName": "r",
        "path": "incoming/orders.csv",
        "format": "csv",
        "skipHeader": "true",
    }
    async with bench("File", **given) as b:
        b.form.go_to("path")
        await b.driver.press("f7")
        await b.settled()
        schema = json.loads(properties_of(b)["schema"])
        assert [(f["name"], f["type"]) for f in schema["fields"]] == [
            ("id", "int"),
            ("name", "string"),
        ]
        assert newest(b) == "File got a schema with 2 fields."
        await b.driver.press("f7")
        await b.settled()
        assert newest(b) == "File has this schema already: 2 fields."
        b.editor.undo()
        assert properties_of(b) == given


async def test_get_schema_says_why_there_is_none(bench):
    async with bench("File", path="incoming/nothing.csv", format="csv") as b:
        b.form.go_to("path")
        await b.driver.press("f7")
        await b.settled()
        assert "no schema was found" in newest(b)
        assert "does not exist" in newest(b)
        assert "schema" not in properties_of(b)
    async with bench("Trash") as b:
        assert "not a source" in b.inspector.explain_disabled("get_schema")
