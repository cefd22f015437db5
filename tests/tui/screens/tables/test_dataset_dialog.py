"""Changing the schema and the properties of a dataset in the data area."""

from __future__ import annotations

import json

import pytest
from textual.widgets import Static, TextArea

from localcdap.api.schema import Schema
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.metadata.lineage.relations import (
    AccessType,
    DatasetId,
    ProgramId,
    Relation,
)
from localcdap.pipeline.library.application_model import DeployRequest
from localcdap.store.table_catalog import create_view
from localcdap.tui.lists import FilteredList
from localcdap.tui.screens.tables.dataset_view import DatasetDialog
from tests.e2e.pipelines import pipeline, schema, stage

PEOPLE = Schema.record("r", [("id", Schema.INT), ("name", Schema.STRING)])
RUN = "5d0c1e2e-e77f-11f1-a9b9-02fc00000001"
GIVEN = {"schema": str(PEOPLE), "schema.row.field": "id"}


@pytest.fixture
def people(cdap):
    cdap.datasets.create(DatasetRequest("people", "table", GIVEN))
    program = ProgramId("default", "report", "workflow", "DataPipelineWorkflow")
    with cdap.lineage._lineage._store.transaction() as tx:
        relation = Relation(DatasetId("default", "people"), program, AccessType.READ, RUN)
        cdap.lineage._lineage.add_relations(tx, {relation})
    yield cdap.datasets
    cdap.datasets.drop("default", "people")


async def open_dialog(driver) -> DatasetDialog:
    await driver.press("5")
    driver.app.screen.query_one("#tables", FilteredList).show('"default"."people"')
    await driver.press("e")
    await driver.until(lambda: isinstance(driver.app.screen, DatasetDialog))
    await driver.settled()
    return driver.app.screen


def read_effect(dialog: DatasetDialog) -> str:
    return str(dialog.query_one("#dataset-effect", Static).content)


async def write(driver, dialog: DatasetDialog, id: str, text: str) -> None:
    dialog.query_one(id, TextArea).text = text
    await driver.settled()


async def test_a_schema_is_changed_after_its_effect_was_shown(open_studio, people):
    async with open_studio() as driver:
        dialog = await open_dialog(driver)
        assert read_effect(dialog) == "Nothing has changed."
        assert dialog.query_one("#dataset-properties", TextArea).text == "schema.row.field=id"

        area = dialog.query_one("#dataset-schema", TextArea)
        area.move_cursor(area.document.end)
        await driver.press("enter")
        await driver.type("note string?")
        await driver.settled()
        assert read_effect(dialog).startswith("people adds 'note' (string or null)")
        assert "report  reads it" in read_effect(dialog)
        assert "depends on these fields" not in read_effect(dialog)
        await write(driver, dialog, "#dataset-schema", "id long\nname int\n")
        assert "'name'" in read_effect(dialog)
        assert "string" in read_effect(dialog)
        await driver.press("ctrl+s")
        assert driver.app.screen is dialog, "a refused change is not saved"
        await write(driver, dialog, "#dataset-schema", "id lon\nname string\nname int")
        assert "Schema, line 1: There is no type 'lon'" in read_effect(dialog)
        assert "Schema, line 3: There is a field 'name' already." in read_effect(dialog)
        assert people.describe("default", "people").schema == PEOPLE

        await write(driver, dialog, "#dataset-schema", "id long\nname string\nnote string?")
        await write(
            driver, dialog, "#dataset-properties", "schema.row.field=id\nconflict.level=ROW"
        )
        assert "sets 'conflict.level' to 'ROW'" in read_effect(dialog)
        await driver.press("ctrl+s")
        await driver.until(lambda: driver.app.screen is not dialog)
        found = people.describe("default", "people")
        assert [str(each.schema.type) for each in found.schema][:1] == [str(Schema.LONG.type)]
        assert found.schema.field_names == ["id", "name", "note"]
        assert found.properties["conflict.level"] == "ROW"


async def test_what_reads_a_dropped_or_retyped_field_is_named(open_studio, people, cdap):
    stages = [
        stage("in", "batchsource", "Table", name="people", schema=schema(id="int", name="string")),
        stage("clean", "transform", "Projection", drop="id"),
        stage("out", "batchsink", "File", referenceName="o", path="/data/out", format="csv"),
    ]
    document = pipeline(stages, ("in", "clean"), ("clean", "out")) | {"name": "names"}
    answer = cdap.applications.deploy(DeployRequest(json.dumps(document)))
    assert answer.application is not None, answer.errors
    async with open_studio() as driver:
        dialog = await open_dialog(driver)
        await write(driver, dialog, "#dataset-schema", "id int")
        effect = read_effect(dialog)
        assert "drop" in effect.lower(), "the change is refused"
        assert "names reads people.name in stage 'in'" in effect
        assert "people.id" not in effect
        await write(driver, dialog, "#dataset-schema", "id long\nname string")
        effect = read_effect(dialog)
        assert "changes 'id' from int to long" in effect
        assert "names reads people.id in stage 'in'" in effect
        assert "people.name" not in effect
    cdap.applications.delete("default", "names")


async def test_a_dataset_that_has_changed_meanwhile_is_not_overwritten(open_studio, people):
    async with open_studio() as driver:
        dialog = await open_dialog(driver)
        people.update(DatasetUpdate("people", {"conflict.level": "ROW"}, replaces=False))
        await write(driver, dialog, "#dataset-schema", "id int\nname string\nmore int?")
        await driver.press("ctrl+s")
        await driver.settled()
        assert "Dataset 'people' has changed since it was opened." in read_effect(dialog)
        assert people.describe("default", "people").schema == PEOPLE
        await driver.press("escape")
        await driver.until(lambda: driver.app.screen is not dialog)


@pytest.mark.slow
async def test_a_view_is_no_dataset(open_studio, people, cdap):
    with cdap.lineage._lineage._store.transaction() as tx:
        create_view(tx, "default", "named", PEOPLE, "SELECT name FROM people")
    async with open_studio() as driver:
        await driver.press("5")
        driver.app.screen.query_one("#tables", FilteredList).show('"default"."named"')
        await driver.settled()
        assert driver.app.screen.explain_disabled("change") == "no dataset is highlighted"
        await driver.press("e")
        assert not isinstance(driver.app.screen, DatasetDialog)
    cdap.tables.drop("default", "named")
