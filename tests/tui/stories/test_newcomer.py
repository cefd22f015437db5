"""Stories of a newcomer in a terminal of 80 x 24, each with the most keys that it may take.

``pytest -m slow -n 0 -s`` with this file prints how many keys each of them took. The story in a browser is in
``tests/server``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.schema import Schema
from localcdap.home import Home
from localcdap.host.cdap import Cdap, open_in_process
from localcdap.store.tables import NamespaceTables
from tests.tui.pipeline.documents import pipeline, stage
from tests.tui.stories.newcomer import Newcomer
from tests.tui.studio_driver import SMALL

pytestmark = pytest.mark.slow
Start = Callable[[int], contextlib.AbstractAsyncContextManager[Newcomer]]
SHOUT = """
from localcdap.api import Transform, plugin


@plugin(name="Shout", description="Makes cities loud.")
class Shout(Transform):
    def configure(self, stage):
        stage.output_schema = stage.input_schema

    def transform(self, record, emit):
        emit({**record, "city": record["city"].upper()})
"""
ROW = {
    "type": "record",
    "name": "row",
    "fields": [{"name": "id", "type": "string"}, {"name": "city", "type": "string"}],
}


@pytest.fixture(scope="module")
def cdap(home: Home, engine_directory: Path) -> Iterator[Cdap]:
    """The services of an instance on the shared Spark server."""
    home.path.mkdir(parents=True, exist_ok=True)
    home.settings_file.write_text(f"engine.directory = {json.dumps(str(engine_directory))}\n")
    with open_in_process(home) as services:
        yield services


@pytest.fixture
def start(open_studio, request: pytest.FixtureRequest) -> Start:
    """``async with start(most) as newcomer``: begins at home, and ends with at most so many keys."""

    @contextlib.asynccontextmanager
    async def play(most: int) -> AsyncIterator[Newcomer]:
        async with open_studio(size=SMALL) as driver:
            newcomer = Newcomer(driver)
            yield newcomer
            sys.stdout.write(f"\n{request.node.name}: {newcomer.keys} keys, at most {most}\n")
            assert newcomer.keys <= most, f"it took {newcomer.keys} keys"

    return play


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with data: ``cities.csv`` of three records with a header."""
    (tmp_path / "cities.csv").write_text("id,city\n1,Paris\n2,Rome\n3,Oslo\n")
    return tmp_path


@pytest.fixture
def cities(cdap: Cdap, folder: Path) -> None:
    """The table ``cities``."""
    table = pa.table({"id": [1, 2], "city": ["Paris", "Rome"]})
    pq.write_table(table, folder / "cities.parquet")
    schema = Schema.record("r", [("id", Schema.LONG), ("city", Schema.STRING)])
    store = cdap.tables._tables._store
    with store.transaction() as tx:
        NamespaceTables(store).upsert_parquet(
            tx, "default", "cities", schema, "id", [folder / "cities.parquet"]
        )


def source(path: Path | str, **more: str) -> dict[str, object]:
    properties = {
        "referenceName": "in",
        "path": str(path),
        "format": "csv",
        "skipHeader": "true",
        "schema": json.dumps(ROW),
    }
    return stage("Cities", "batchsource", "File", **(properties | more))


def sink(folder: Path) -> dict[str, object]:
    return stage(
        "Out", "batchsink", "File", referenceName="out", path=str(folder / "out"), format="json"
    )


def wrangler(recipe: str) -> dict[str, object]:
    return stage(
        "Clean",
        "transform",
        "Wrangler",
        "wrangler-transform",
        field="*",
        directives=recipe,
        schema=json.dumps(ROW),
    )


def write(folder: Path, *stages: dict[str, object]) -> Path:
    names = [str(each["name"]) for each in stages]
    links = " ".join(f"{a}>{b}" for a, b in zip(names, names[1:], strict=False))
    file = folder / "p.json"
    file.write_text(json.dumps(pipeline(stages, links, name="cities")))
    return file


async def open_file(newcomer: Newcomer, file: Path) -> None:
    await newcomer.press("o")
    await newcomer.type(str(file))
    await newcomer.press("enter")
    await newcomer.driver.editor()


@pytest.mark.spark
async def test_the_demo_runs_and_its_table_is_looked_at(start: Start):
    async with start(2) as newcomer:
        await newcomer.sees("d Run the demo")
        await newcomer.press("d")
        await newcomer.sees("✓ completed", "Spending table", timeout_s=240)
        await newcomer.press("5")
        await newcomer.sees("spending", "Ada Byron")


async def test_an_export_with_ten_failures_becomes_valid(start: Start, folder: Path):
    steps = [
        stage(f"Step{number}", "transform", "Projection", "core-plugins", keep="id,city")
        for number in range(18)
    ]
    first, last = source(folder / "cities.csv", maxSplitSize="many"), sink(folder)
    for each in steps[:8]:
        each["plugin"]["artifact"]["version"] = "1.0.0"
    del last["plugin"]["properties"]["path"]
    async with start(14) as newcomer:
        await open_file(newcomer, write(folder, first, *steps, last))
        await newcomer.sees("10 failures in 10 stages")
        await newcomer.press("P")
        await newcomer.sees("X applies all 8 fixes")
        await newcomer.press("X")
        await newcomer.sees("✗ 2 failures")
        await newcomer.press("enter")
        await newcomer.sees("maxSplitSize", "must be a whole number")
        await newcomer.is_in_field()
        await newcomer.press("home", "ctrl+k")
        await newcomer.type("1000000")
        await newcomer.sees("✗ 1 failure")
        await newcomer.press("escape", "P", "P", "enter")
        await newcomer.is_in_field()
        await newcomer.type(str(folder / "out"))
        await newcomer.sees("✓ valid", "✓ nothing is wrong")


@pytest.mark.spark
async def test_a_wrong_path_is_found_and_corrected(start: Start, folder: Path):
    file = write(folder, source(folder / "citys.csv"), sink(folder))
    async with start(11) as newcomer:
        await open_file(newcomer, file)
        await newcomer.press("V")
        await newcomer.sees("✗ 1 failure")
        await newcomer.press("P")
        await newcomer.sees("does not exist")
        await newcomer.press("enter")
        await newcomer.is_in_field()
        await newcomer.press("home", "ctrl+k")
        await newcomer.type(str(folder / "cities.csv"))
        await newcomer.sees("✓ nothing is wrong")
        await newcomer.press("escape", "v")
        await newcomer.sees("✓ preview completed", timeout_s=120)


async def test_a_misspelt_column_is_corrected_in_the_recipe(start: Start, folder: Path):
    file = write(folder, source(folder / "cities.csv"), wrangler("uppercase :citty"), sink(folder))
    async with start(9) as newcomer:
        await open_file(newcomer, file)
        await newcomer.press("P")
        await newcomer.sees("Did you mean 'city'?")
        await newcomer.press("enter")
        await newcomer.is_in_field()
        await newcomer.press("end", "backspace", "backspace", "y")
        await newcomer.sees("uppercase :city", "Clean ✓ valid")


@pytest.mark.spark
async def test_a_run_that_fails_shows_stage_line_and_record(start: Start, folder: Path):
    (folder / "cities.csv").write_text("id,city\n1,Paris\n2x,Rome\n")
    stages = source(folder / "cities.csv"), wrangler("fail id == '2x'"), sink(folder)
    async with start(7) as newcomer:
        await open_file(newcomer, write(folder, *stages))
        await newcomer.press("r")
        await newcomer.sees("run failed", timeout_s=120)
        await newcomer.driver.settled()
        await newcomer.press("O", "G")
        await newcomer.sees(
            "(line 1 of the", "recipe: fail id == '2x')", "Record: {id: '2x', city:"
        )
        (folder / "cities.csv").write_text("id,city\n1,Paris\n2,Rome\n")
        await newcomer.press("r")
        await newcomer.sees("✓ run completed", timeout_s=120)


async def test_a_plugin_that_breaks_says_where_and_is_reloaded(
    start: Start, folder: Path, home: Home
):
    (home.path / "plugins").mkdir(exist_ok=True)
    plugin = home.path / "plugins" / "shout-1.5.py"
    plugin.write_text(SHOUT.replace("stage):", "stage:"))
    shout = stage("Shout", "transform", "Shout", "shout")
    shout["plugin"]["artifact"]["scope"] = "USER"
    async with start(6) as newcomer:
        await open_file(newcomer, write(folder, source(folder / "cities.csv"), shout, sink(folder)))
        await newcomer.press("P")
        await newcomer.sees("Shout", "not found")
        await newcomer.press("4")
        await newcomer.sees("shout-1.5.py:7: SyntaxError")
        plugin.write_text(SHOUT)
        await newcomer.press("2")
        await newcomer.sees("✓ valid", timeout_s=60)


async def test_a_table_is_queried(start: Start, cities: None):
    async with start(4) as newcomer:
        await newcomer.press("5")
        await newcomer.sees("cities", "Rome")
        await newcomer.press("q")
        await newcomer.type("select upper(city) as loud from cities where id = 2")
        await newcomer.press("f5")
        await newcomer.sees("loud", "ROME")


async def test_a_file_that_changes_outside_is_reloaded(start: Start, folder: Path):
    file = write(folder, source(folder / "cities.csv"), sink(folder))
    async with start(5) as newcomer:
        await open_file(newcomer, file)
        file.write_text(file.read_text().replace("Cities", "Towns"))
        os.utime(file, ns=(1, 1))
        await newcomer.sees("file changed outside: f5")
        await newcomer.press("f5")
        await newcomer.sees("Reload the file", "Show the differences")
        await newcomer.press("enter")
        await newcomer.sees("Towns")


@pytest.mark.spark
async def test_a_pipeline_from_nothing(start: Start, folder: Path):
    async with start(21) as newcomer:
        await newcomer.press("n")
        await newcomer.type("mine")
        await newcomer.press("enter")
        await newcomer.driver.editor()
        await newcomer.press("a")
        await newcomer.sees("Add a stage")
        await newcomer.type("file source")
        await newcomer.press("enter")
        await newcomer.is_in_field()
        await newcomer.type("cities")
        await newcomer.press("tab")
        await newcomer.type(str(folder / "cities.csv"))
        await newcomer.press("f3")
        await newcomer.sees("csv: each line has 2 values", "3,Oslo")
        await newcomer.press("ctrl+g")
        await newcomer.sees("id int", "city string")
        await newcomer.press("escape", "a")
        await newcomer.sees("Add a stage")
        await newcomer.type("file sink")
        await newcomer.press("enter")
        await newcomer.sees("suffix")
        await newcomer.is_in_field()
        await newcomer.type(str(folder / "out"))
        await newcomer.press("tab", "tab")
        await newcomer.type("json")
        await newcomer.sees("✓ valid")
        await newcomer.press("escape", "v")
        await newcomer.sees("✓ preview completed", "✓ in 3", timeout_s=120)
