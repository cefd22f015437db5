"""The analytics area with keys, on the real application, as far as it needs no Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.schema import Schema
from localcdap.store.tables import NamespaceTables
from localcdap.tui.dialogs.chooser import Chooser
from localcdap.tui.routes import ExperimentTarget, PrepTarget, TableTarget
from localcdap.tui.screens.analytics.form import FormDialog
from localcdap.tui.screens.analytics.screen import AnalyticsScreen
from localcdap.tui.screens.analytics.sources import describe_target
from tests.tui.screens.analytics.conftest import shown
from tests.tui.studio_driver import LARGE, SMALL


def put(ask, name, srcpath, **more):
    body = {"srcpath": str(srcpath), "outcome": "diagnosis", "outcomeType": "string"}
    ask("PUT", f"experiments/{name}", {**body, **more})


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_without_experiments(namespace, open_studio, size):
    async with open_studio(namespace=namespace, size=size) as driver:
        await driver.press("quotation_mark")
        screen = driver.app.screen
        assert isinstance(screen, AnalyticsScreen)
        assert screen.explain_disabled("train") == "there is no experiment; n makes one"
        assert screen.explain_disabled("delete") == "there is no experiment; n makes one"
        await driver.press("t")
        assert driver.app.screen is screen


@pytest.mark.slow
async def test_a_first_look_at_a_sample(ask, namespace, tumours, open_studio):
    put(ask, "tumours", tumours, sourceProperties={"format": "delimited", "skipHeader": "true"})
    async with open_studio(namespace=namespace) as driver:
        await driver.press("quotation_mark")
        await driver.until(lambda: "diagnosis (string)" in shown(driver))
        screen = driver.app.screen
        assert screen.explain_disabled("train") == (
            "the experiment has no split that is complete; s makes one"
        )
        await driver.press("v")
        await driver.type("logistic")
        await driver.press("enter")
        await driver.until(lambda: "scikit-learn" in shown(driver))
        text = shown(driver)
        assert "a first look at a sample, by scikit-learn" in text
        assert "nothing is recorded" in text
        assert "427 records to learn from, 142 to test" in text
        assert "receiver operating characteristic" in text
        await driver.press("plus")
        assert "0.52" in shown(driver)
        await driver.press("escape")
        assert "scikit-learn" not in shown(driver)
    assert ask("GET", "experiments/tumours/models")["totalRowCount"] == 0


async def test_what_is_wrong_with_an_experiment_is_said_in_its_form(
    ask, namespace, diabetes, open_studio
):
    put(ask, "diabetes", diabetes)
    target = ExperimentTarget(path=str(diabetes))
    async with open_studio(namespace=namespace, target=target) as driver:
        await driver.until(lambda: isinstance(driver.app.screen, Chooser))
        await driver.type("progression")
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, FormDialog))
        form = driver.app.screen
        assert form.values["name"] == "diabetes_progression"
        problem = form.query_one("#dialog-problem")

        async def fill(name: str, value: str) -> str:
            for field in form.query("Input"):
                if field.name == name:
                    field.value = value
            await driver.press("ctrl+r")
            return str(problem.render())

        assert await fill("name", "diabetes") == "There is an experiment diabetes already."
        assert await fill("name", "") == "Give the experiment a name."
        assert await fill("left out", "nothing") == "Give the experiment a name."
        assert "There is no column 'nothing'" in await fill("name", "other")
        assert "cannot be left out" in await fill("left out", "progression")
        assert "cannot be left out" in await fill("split", "half")
        assert await fill("left out", "") == "There is no split 'half'."
        assert await fill("split", "time") == "A split by time needs a column."
        await driver.press("escape")
    assert ask("GET", "experiments")["totalRowCount"] == 1


async def test_an_experiment_is_deleted_by_its_name(ask, namespace, tumours, open_studio):
    put(ask, "tumours", tumours)
    put(ask, "other", tumours)
    async with open_studio(namespace=namespace) as driver:
        await driver.press("quotation_mark", "delete")
        await driver.type("other")
        await driver.press("enter")
        screen = driver.app.screen_stack[0]
        await driver.until(lambda: list(screen.experiments) == ["tumours"])
    assert [e["name"] for e in ask("GET", "experiments")["experiments"]] == ["tumours"]


def test_the_types_of_a_file_without_a_recipe(cdap, namespace, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,size,zip,kind,none\n1,2.5,007,3,\n2,,010,4,\n")

    found = describe_target(cdap, namespace, ExperimentTarget(path=str(file)))

    types = {each.name: each.type for each in found.columns}
    assert types == {
        "id": "long",
        "size": "double",
        "zip": "string",
        "kind": "long",
        "none": "string",
    }
    assert found.directives == []
    assert '"size", "type": ["double", "null"]' in found.properties["schema"]
    assert found.records[0] | {"none": None} == {
        "id": 1,
        "size": 2.5,
        "zip": "007",
        "kind": 3,
        "none": None,
    }
    assert found.records[1]["size"] is None
    classes = found.with_class("kind")
    assert classes.records[0]["kind"] == "3"
    assert '"kind", "type": ["string", "null"]' in classes.properties["schema"]
    assert found.make_schema(["id"])["fields"][0]["name"] == "size"


def test_a_recipe_gets_the_types_as_directives(cdap, namespace, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,size\n1,2.5\n2,3.5\n")
    recipe = ("rename size extent",)

    found = describe_target(cdap, namespace, ExperimentTarget(str(file), directives=recipe))

    assert found.directives == [*recipe, "set-type :id long", "set-type :extent double"]
    assert found.properties["format"] == "delimited"
    assert found.with_class("id").directives[-1] == "set-type :id string"
    with pytest.raises(BadRequestError, match="recipe has mistakes"):
        describe_target(cdap, namespace, ExperimentTarget(str(file), directives=("nonsense",)))


@pytest.fixture
def rows(cdap, namespace, tmp_path):
    """A table with numbers and texts."""
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1, 2], "size": ["2.5", "3.5"]}), file)
    schema = Schema.record("r", [("id", Schema.LONG), ("size", Schema.STRING)])
    store = cdap.tables._tables._store
    with store.transaction() as tx:
        NamespaceTables(store).upsert_parquet(tx, namespace, "rows", schema, "id", [file])


@pytest.mark.slow
async def test_a_table_and_a_recipe_become_experiments(rows, namespace, open_studio, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("id,size\n1,2.5\n2,3.5\n")
    async with open_studio(namespace=namespace, target=TableTarget("rows")) as driver:
        await driver.press("M")
        assert driver.app.current_mode == "analytics"
        await driver.until(lambda: isinstance(driver.app.screen, Chooser))
        labels = [each.label for each in driver.app.screen._choices]
        assert labels == ["id", "id", "size"]  # a whole number may be a class
        await driver.press("escape")
        driver.app.navigate(PrepTarget(path=str(file)))
        await driver.until(lambda: getattr(driver.app.screen, "view", None) is not None)
        await driver.settled()
        await driver.press("M")
        await driver.until(lambda: isinstance(driver.app.screen, Chooser))
        await driver.type("size")
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, FormDialog))
        assert driver.app.screen.values["name"] == "a"


def test_a_table_gets_the_types_as_directives(cdap, rows, namespace):

    found = describe_target(cdap, namespace, ExperimentTarget(table="rows"))

    assert (found.srcpath, found.properties) == ("table:rows", {})
    assert found.directives == ["set-type :size double"]
    assert sorted(each["size"] for each in found.records) == [2.5, 3.5]  # a table has no order
