"""The data area on real tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from textual.color import Color
from textual.widgets import Static, TabbedContent

from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetRequest
from localcdap.metadata.lineage.column_edges import DatasetField
from localcdap.metadata.lineage.relations import DatasetId
from localcdap.store.table_catalog import create_view
from localcdap.store.tables import NamespaceTables
from localcdap.tui.lists import FilteredList
from localcdap.tui.records.table import RecordTable
from localcdap.tui.routes import TableTarget
from localcdap.tui.screens.tables.browser import PAGE, TableBrowser
from localcdap.tui.screens.tables.console import QueryStatus, SqlConsole
from localcdap.tui.screens.tables.editor import QueryEditor
from tests.tui.studio_driver import SMALL

ROWS = 2500
LEAGUES = {"schema": str(Schema.record("r", [("league", Schema.STRING)]))}
SPENT = DatasetId("default", "spending")
SPENDING = Schema.record(
    "r", [("id", Schema.LONG), ("city", Schema.STRING.as_nullable), ("spent", Schema.DOUBLE)]
)


@pytest.fixture(scope="module", autouse=True)
def tables(cdap, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("rows")
    cities = ["Paris", None, "Rome"]
    data = {
        "id": list(range(ROWS)),
        "city": [cities[i % 3] for i in range(ROWS)],
        "spent": [float(ROWS - i) for i in range(ROWS)],
    }
    write(cdap, folder, "spending", data)


def write(cdap, folder: Path, name: str, data: dict) -> None:
    schema = pa.schema([("id", pa.int64()), ("city", pa.string()), ("spent", pa.float64())])
    file = folder / f"{name}.parquet"
    pq.write_table(pa.table(data, schema), file)
    store = cdap.tables._tables._store
    with store.transaction() as tx:
        NamespaceTables(store).upsert_parquet(tx, "default", name, SPENDING, "id", [file])


def column(driver, name: str, which: str = "#rows") -> list:
    table = driver.app.screen.query_one(which, RecordTable).table
    return table.column(name).to_pylist()


async def run(driver, sql: str) -> None:
    driver.app.screen.query_one(QueryEditor).replace_text(sql)
    await driver.press("f5")
    await driver.settled()


async def test_a_table_is_browsed_page_by_page(open_studio):
    async with open_studio() as driver:
        await driver.press("5")
        driver.app.screen.query_one("#tables", FilteredList).show('"default"."spending"')
        await driver.press("b")
        browser = driver.app.screen.query_one(TableBrowser)
        assert column(driver, "id") == list(range(1000))
        await driver.press("right_square_bracket", "right_square_bracket")
        assert column(driver, "id") == list(range(2000, ROWS))
        assert browser.check_action("page", (1,)) is None
        assert "rows 2,001 to 2,500" in browser.query_one(RecordTable).note
        await driver.press("left_square_bracket")
        assert column(driver, "id")[0] == 1000


async def test_rows_are_ordered_and_filtered_by_a_condition(open_studio):
    async with open_studio(size=SMALL) as driver:
        await driver.press("5")
        driver.app.screen.query_one("#tables", FilteredList).show('"default"."spending"')
        await driver.press("b")
        await driver.press("right", "right", "o")
        assert column(driver, "spent")[0] == 1.0
        await driver.press("o")
        assert column(driver, "spent")[0] == ROWS
        await driver.press("w")
        driver.app.focused.value = "city is null -- really"
        await driver.press("enter")
        assert set(column(driver, "city")) == {None}
        assert column(driver, "spent")[0] == ROWS - 1
        driver.app.focused.value = "nix > 1"
        await driver.press("enter")
        assert "nix" in str(driver.app.screen.query_one("#browser-line", QueryStatus).content)


async def test_a_query_is_run(open_studio):
    async with open_studio() as driver:
        await driver.press("5", "q")
        assert driver.app.screen.query_one(TabbedContent).active == "sql-tab"
        await run(driver, "SELECT city, count(*) AS n FROM spending GROUP BY ALL ORDER BY n, city")
        assert column(driver, "city", "#sql-rows") == ["Rome", None, "Paris"]
        assert "✓ 3 rows" in str(driver.app.screen.query_one("#sql-line", QueryStatus).content)


async def test_an_error_is_shown_and_the_cursor_moves_there(open_studio):
    async with open_studio() as driver:
        await driver.press("5", "q")
        await run(driver, "SELECT 1;\n\nSELECT 2; SELECT *\nFROM spendin;")
        line = driver.app.screen.query_one("#sql-line", QueryStatus)
        assert 'Did you mean "spending"?' in str(line.content)
        assert "Line 4, column 6" in str(line.content)
        error_color = Color.parse(driver.app.get_css_variables()["text-error"])
        assert line.visual_style.foreground.rgb == error_color.rgb
        assert driver.app.screen.query_one(QueryEditor).area.cursor_location == (3, 5)


async def test_nothing_is_written_by_a_query(open_studio, cdap):
    async with open_studio() as driver:
        await driver.press("5", "q")
        await run(driver, "DELETE FROM spending")
        assert "only queries can run" in str(
            driver.app.screen.query_one("#sql-line", QueryStatus).content
        )
    assert {each.name: each.rows for each in cdap.tables.list_tables("default")}["spending"] == ROWS


@pytest.mark.slow
async def test_names_are_completed_while_typing(open_studio):
    async with open_studio() as driver:
        await driver.press("5", "q")
        editor = driver.app.screen.query_one(QueryEditor)
        editor.replace_text("")
        await driver.type("from spe")
        assert editor.is_completing
        await driver.press("tab")
        assert editor.area.text == "from spending"
        assert not editor.is_completing
        await driver.type(" where ci")
        await driver.press("escape")
        await driver.press("f5")
        assert editor.area.text == "from spending where ci"


async def test_a_long_query_is_cancelled(open_studio):
    async with open_studio() as driver:
        await driver.press("5", "q")
        driver.app.screen.query_one(QueryEditor).replace_text(
            "SELECT count(*) FROM range(1000000000000) a, range(1000000) b WHERE a.range % 7 > b.range"
        )
        line = driver.app.screen.query_one("#sql-line", QueryStatus)
        await driver.pilot.press("f5")
        await driver.until(lambda: "escape cancels" in str(line.content))
        await driver.press("escape")
        assert line.running is None
        assert str(line.content) == "Cancelled."
        await run(driver, "SELECT 1 AS one")
        assert column(driver, "one", "#sql-rows") == [1]


@pytest.mark.slow
async def test_earlier_queries_can_be_used_again(open_studio):
    async with open_studio() as driver:
        await driver.press("5", "q")
        await run(driver, "SELECT 1 AS one")
        await run(driver, "SELECT 2 AS two")
        editor = driver.app.screen.query_one(QueryEditor)
        await driver.press("alt+up", "alt+up")
        assert editor.area.text == "SELECT 1 AS one"
        await driver.press("alt+down", "alt+down")
        assert editor.area.text == "SELECT 2 AS two"
        await driver.press("f8", "down", "enter")
        assert editor.area.text == "SELECT 1 AS one"
    async with open_studio() as driver:
        await driver.press("5")
        assert driver.app.screen.query_one(SqlConsole).history[:2] == [
            "SELECT 2 AS two",
            "SELECT 1 AS one",
        ]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
async def test_a_result_is_saved(open_studio, tmp_path: Path, suffix: str):
    file = tmp_path / f"out{suffix}"
    async with open_studio() as driver:
        await driver.press("5", "q")
        console = driver.app.screen.query_one(SqlConsole)
        assert console.explain_disabled("export") == "there is no result"
        await run(driver, "SELECT id, city FROM spending ORDER BY id LIMIT 2")

        async def chosen(*_: object, **__: object) -> Path:
            return file

        driver.app.pick_file = chosen
        await driver.press("ctrl+e")
        await driver.until(file.exists)
        await driver.settled()
    if suffix == ".parquet":
        assert pq.read_table(file).to_pydict() == {"id": [0, 1], "city": ["Paris", None]}
    else:
        assert "Paris" in file.read_text()


@pytest.mark.slow
async def test_new_tables_are_listed_and_the_highlight_stays(open_studio, cdap, tmp_path):
    async with open_studio() as driver:
        await driver.press("5")
        listing = driver.app.screen.query_one("#tables", FilteredList)
        listing.show('"default"."spending"')
        before, keys = listing.key, listing.keys
        write(cdap, tmp_path, "a_new_one", {"id": [1], "city": ["Oslo"], "spent": [2.0]})
        cdap.namespaces.create("other")  # an event, as the end of a run is one
        await driver.until(lambda: '"default"."a_new_one"' in listing.keys)
        assert listing.key == before
        await driver.press("slash")
        await driver.type("a_new_one")
        assert listing.keys == ['"default"."a_new_one"']
        await driver.press("escape")
        assert sorted(listing.keys) == sorted([*keys, '"default"."a_new_one"'])


async def test_a_view_is_shown_as_one_with_its_query_and_current_rows(cdap, tmp_path, open_studio):
    store = cdap.tables._tables._store
    write(cdap, tmp_path, "few", {"id": [1], "city": ["Rome"], "spent": [2.0]})
    query = "SELECT id + 1 AS next, city FROM few"
    with store.transaction() as tx:
        create_view(tx, "default", "upcoming", SPENDING, query)
        create_view(tx, "default", "broken", SPENDING, "FROM nowhere")
    async with open_studio() as driver:
        await driver.press("5")
        screen = driver.app.screen
        screen.query_one("#tables", FilteredList).show('"default"."upcoming"')
        await driver.press("b")
        assert column(driver, "next") == [2]
        assert "view" in str(screen.query_one("#browser-title", Static).content)
        assert query in str(screen.query_one("#columns", Static).content)
        screen.query_one("#tables", FilteredList).show('"default"."broken"')
        await driver.settled()
        told = "View 'broken' cannot be read: Table with name nowhere does not exist!"
        assert told in str(screen.query_one("#columns", Static).content)
        assert told in str(screen.query_one("#browser-line", QueryStatus).content)


@pytest.mark.slow
async def test_a_column_leads_to_its_lineage_and_the_table_to_its_metadata(open_studio):
    async with open_studio(target=TableTarget("spending")) as driver:
        await driver.until(lambda: driver.app.current_mode == "data")
        await driver.settled()
        await driver.press("b", "right", "W")
        await driver.until(lambda: driver.app.current_mode == "lineage")
        await driver.settled()
        assert driver.app.screen.exploration.focus == DatasetField(SPENT, "city")
        await driver.press("5", "escape", "W", "enter")
        await driver.until(lambda: driver.app.current_mode == "lineage")
        assert driver.app.screen.exploration.focus == SPENT
        await driver.press("5", "T")
        assert driver.app.screen.entity == SPENT.to_entity()
        await driver.press("escape", "q", "escape", "tab", "W")
        driver.app.navigate(TableTarget("no such table"))
        await driver.settled()
        assert "no such table" in driver.app.notices.newest_first[0].title


@pytest.mark.slow
async def test_a_file_set_is_shown_with_its_partitions(open_studio, cdap):
    keys = {"partitioning.fields.": "day", "partitioning.field.day": "STRING", "format": "csv"}
    cdap.datasets.create(DatasetRequest("days", "partitionedFileSet", keys | LEAGUES))
    cdap.transactions.run(
        lambda tx: [tx.dataset("days").add_partition({"day": str(n)}) for n in range(30)]
    )
    async with open_studio() as driver:
        await driver.press("5")
        driver.app.screen.query_one("#tables", FilteredList).show('"default"."days"')
        await driver.press("d")
        await driver.settled()
        shown = str(driver.app.screen.query_one("#dataset", Static).content)
        assert "partitions, 20 of 30" in shown
        assert "day=12  12" in shown
        assert "CREATE" in shown.partition("audit")[2]
    cdap.datasets.drop("default", "days")


async def test_a_dataset_is_shown_with_its_properties_and_schema(open_studio, cdap):
    cdap.datasets.create(
        DatasetRequest("archive", "fileSet", {"format": "csv", **LEAGUES}, description="old files")
    )
    async with open_studio() as driver:
        await driver.press("5")
        listing = driver.app.screen.query_one("#tables", FilteredList)
        listing.show('"default"."spending"')
        await driver.press("d")
        await driver.settled()
        shown = driver.app.screen.query_one("#dataset", Static)
        assert "spending  table" in str(shown.content)
        assert "schema.row.field  id" in str(shown.content)
        assert "spent  double" in str(shown.content)
        listing.show('"default"."archive"')
        await driver.settled()
        for part in ("archive  fileSet", "old files", "filesets/default/archive", "league  string"):
            assert part in str(shown.content)
        assert driver.app.screen.entity == MetadataEntity.of_dataset("archive", "default")
        cdap.datasets.drop("default", "archive")


@pytest.mark.slow
async def test_a_dataset_without_columns_leads_to_its_lineage(open_studio, cdap):
    cdap.datasets.create(DatasetRequest("raw", "fileSet", {}))
    async with open_studio() as driver:
        await driver.press("5")
        driver.app.screen.query_one("#tables", FilteredList).show("dataset raw")
        await driver.settled()
        await driver.press("W")
        await driver.until(lambda: driver.app.current_mode == "lineage")
        assert driver.app.screen.exploration.focus == DatasetId("default", "raw")
    cdap.datasets.drop("default", "raw")


@pytest.mark.slow
async def test_a_value_filters_all_rows_and_its_frequency_is_that_of_all(open_studio):
    async with open_studio(target=TableTarget("spending")) as driver:
        rows = driver.app.screen.query_one("#rows", RecordTable)
        await driver.until(lambda: rows.table is not None and rows.table.num_rows)
        await driver.press("b", "right", "down", "equals_sign")
        assert set(column(driver, "city")) == {None}
        assert driver.app.screen.query_one("#condition").value == "city IS NULL"
        await driver.press("backspace", "F")
        await driver.until(lambda: "3 values" in shown(driver))
        assert "33.3%" in shown(driver)
        await driver.type("Rome")
        await driver.press("enter", "right_square_bracket")
        assert rows.grid.numbers[0] == 1
        assert set(column(driver, "city")) == {"Rome"}
        await driver.press("backspace", "right_square_bracket")
        assert rows.grid.numbers[0] == PAGE + 1
        await driver.press("left", "minus", "minus")
        value = driver.app.screen.query_one("#condition").value
        assert value.startswith("id IS DISTINCT FROM CAST(")


def shown(driver) -> str:
    strips = driver.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)
