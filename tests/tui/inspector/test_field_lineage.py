"""The lineage of a field from the schemas and records of a source or sink."""

from __future__ import annotations

import json

import pytest

from localcdap.tui.dialogs.dialog_screen import LinesDialog
from localcdap.tui.inspector.tabs import find_dataset
from localcdap.tui.routes import DocumentTarget
from tests.metadata.lineage.shop import write_shop
from tests.tui.inspector.bench import pipeline

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": "id", "type": "long"}, {"name": "price", "type": "string"}],
    }
)
DOCUMENT = pipeline(
    "File:batchsource Projection:transform Trash:batchsink",
    File={"referenceName": "orders", "path": "x.csv", "format": "csv", "schema": SCHEMA},
    Trash={"referenceName": "${sink}"},
)


@pytest.mark.parametrize(
    ("properties", "dataset"),
    [
        ({"referenceName": "orders"}, "orders"),
        ({"referenceName": " ", "name": "table"}, "table"),
        ({"path": "x"}, None),
    ],
)
def test_the_dataset_of_a_stage(properties, dataset):
    assert find_dataset(properties) == dataset


async def test_a_field_of_a_schema_leads_to_its_lineage(open_studio, cdap):
    write_shop(cdap)
    target = DocumentTarget("p", json.dumps(DOCUMENT))
    async with open_studio(target=target) as driver:
        editor = await driver.editor()
        inspector = driver.app.screen.view.inspector

        async def ask(stage: str) -> None:
            editor.select(stage)
            inspector.show_selected()
            inspector.open_tab("schema")
            await driver.settled()
            inspector.focus_content()
            await driver.press("W")

        await ask("Projection")
        await driver.until(lambda: driver.app.screen.query("Input"))
        await driver.type("price")
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, LinesDialog))
        shown = "\n".join(str(each.render()) for each in driver.app.screen.query("Static"))
        assert "price of Projection" in shown
        assert "orders.price  direct: identity" in shown
        assert "no field of a dataset" in shown  # the sink's dataset is a macro
        await driver.press("escape")
        await ask("Trash")
        assert "is known in a run only" in driver.app.notices.newest_first[0].title
        await ask("File")
        await driver.type("price")
        await driver.press("enter")
        await driver.until(lambda: driver.app.current_mode == "lineage")
        await driver.settled()
        focus = driver.app.screen.exploration.focus
        assert (focus.dataset.dataset, focus.field) == ("orders", "price")
