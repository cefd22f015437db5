"""Datasets of custom types: their code runs in a plugin worker, and a failure of it changes nothing."""

from __future__ import annotations

import shutil

import pytest

from localcdap.api.dataset.definition import DatasetDeclaration
from localcdap.api.errors import (
    ConflictError,
    DatasetPropertiesError,
    IncompatibleUpdateError,
    NotFoundError,
    PluginError,
)
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.datasets.types import DatasetTypes
from localcdap.pipeline.validation.datasets import StageDataset
from localcdap.sandbox.pool import PluginWorker

from .modules import Modules

RATES = '''
"""Rates by day."""
import os
import time

from localcdap.api.dataset.definition import DatasetAdmin, DatasetDefinition, dataset_type
from localcdap.api.dataset.specification import StorageLayout, TableLayout, build_specification
from localcdap.api.errors import DatasetPropertiesError, IncompatibleUpdateError
from localcdap.api.schema import Schema


class Admin(DatasetAdmin):
    def update(self, old):
        super().update(old)
        action = self.specification.properties.get("action")
        if action == "raise":
            raise RuntimeError("disk on fire")
        if action == "exit":
            os._exit(3)
        if action == "hang":
            time.sleep(600)

    def upgrade(self):
        layout = self.definition.lay_out(self.specification)
        if not self.storage.exists(layout):
            self.storage.create(StorageLayout({k: v for k, v in layout.tables.items() if "." in k}))


@dataset_type("rates", description="Currency rates by day.")
class Rates(DatasetDefinition):
    properties = {"currency": "The currency; it does not change."}
    admin_class = Admin

    def configure(self, name, properties):
        if "currency" not in properties:
            raise DatasetPropertiesError("Property 'currency' is missing.", property="currency")
        return build_specification(name, self.name, properties)

    def reconfigure(self, name, properties, current):
        old, new = current.properties["currency"], properties.get("currency")
        if old != new:
            raise IncompatibleUpdateError(f"Cannot change property 'currency' from {old} to {new}")
        return self.configure(name, properties)

    def lay_out(self, specification):
        fields = [("day", Schema.STRING), ("rate", Schema.DOUBLE.as_nullable)]
        if "note" in specification.properties:
            fields.append(("note", Schema.STRING.as_nullable))
        name = specification.properties.get("table", specification.name)
        return StorageLayout({name: TableLayout(Schema.record("r", fields), "day")})
'''
PAIR = """
from localcdap.api.dataset.definition import CompositeDefinition, dataset_type
from localcdap.api.dataset.types.tables import KeyValueTableDefinition


@dataset_type("pair")
class Pair(CompositeDefinition):
    embedded = {"rates": "rates", "names": KeyValueTableDefinition()}
"""
SECOND_VERSION = RATES.replace(
    "        name = specification.properties.get",
    '        more = {f"{specification.name}.log": TableLayout(Schema.record("l", fields))}\n'
    "        name = specification.properties.get",
).replace('"day")})', '"day")} | more)')


@pytest.fixture
def rates(modules: Modules) -> DatasetService:
    """The datasets of an instance with one of the type ``rates``."""
    modules.drop("rates-1.0.0.py", RATES)
    modules.datasets.create(DatasetRequest("eur", "rates", {"currency": "EUR"}))
    return modules.datasets


def change(**properties: str) -> DatasetUpdate:
    return DatasetUpdate("eur", properties, replaces=False)


def test_a_custom_type_lives_as_a_built_in_one(modules: Modules, rates: DatasetService) -> None:
    found = next(each for each in rates.list_types("default") if each.name == "rates")
    assert (found.artifact, found.description) == ("rates 1.0.0", "Currency rates by day.")
    detail = rates.describe("default", "eur")
    assert (detail.tables, detail.rows, detail.problem) == (["eur"], 0, None)
    assert detail.schema is not None
    assert detail.schema.field_names == ["day", "rate"]

    ahead = rates.check_update(change(note="yes"))
    assert [each.field for each in ahead.fields] == ["note"]
    assert rates.update(change(note="yes")) == ahead
    assert rates.describe("default", "eur").schema.field_names == ["day", "rate", "note"]
    rates.truncate("default", "eur")
    rates.drop("default", "eur")
    assert not modules.list_tables()


def test_a_definition_says_what_is_wrong(rates: DatasetService) -> None:
    with pytest.raises(DatasetPropertiesError, match="Property 'currency' is missing"):
        rates.create(DatasetRequest("x", "rates"))
    message = "Cannot change property 'currency' from EUR to USD"
    for call in (rates.check_update, rates.update):
        with pytest.raises(IncompatibleUpdateError, match=message):
            call(change(currency="USD"))
    with pytest.raises(NotFoundError, match="Requested dataset type is not available: rate;"):
        rates.create(DatasetRequest("x", "rate"))


@pytest.mark.parametrize(("action", "message"), [("raise", "disk on fire"), ("exit", "rates")])
def test_an_update_that_fails_changes_nothing(
    rates: DatasetService, action: str, message: str
) -> None:
    before = rates.describe("default", "eur")
    with pytest.raises(PluginError, match=message):
        rates.update(change(action=action, note="yes"))
    assert rates.describe("default", "eur") == before
    assert rates.update(change(note="yes")).fields


def test_an_update_that_hangs_changes_nothing(modules: Modules, rates: DatasetService) -> None:
    before = rates.describe("default", "eur")
    impatient = PluginWorker(time_limit_s=1, memory_mb=1024)
    try:
        with pytest.raises(PluginError, match="rates"):
            modules.open_datasets(impatient).update(change(action="hang", note="yes"))
    finally:
        impatient.close()
    assert rates.describe("default", "eur") == before
    assert rates.update(change(note="yes")).fields


def test_a_type_cannot_touch_the_table_of_another_dataset(
    modules: Modules, rates: DatasetService
) -> None:
    rates.create(DatasetRequest("orders", "keyValueTable"))
    with pytest.raises(PluginError, match="uses the table 'orders', which is not one of dataset"):
        rates.create(DatasetRequest("x", "rates", {"currency": "EUR", "table": "orders"}))
    assert modules.list_tables() == ["eur", "orders"]


def test_a_removed_file_leaves_the_data(modules: Modules, rates: DatasetService) -> None:
    file = modules.folder / "rates-1.0.0.py"
    shutil.move(file, modules.folder.parent / "kept.py")
    modules.artifacts.sync()
    detail = rates.describe("default", "eur")
    missing = f"The dataset type 'rates' is missing: its artifact rates 1.0.0 was {file}."
    assert detail.problem == missing
    assert (detail.tables, detail.rows) == (["eur"], 0)
    with pytest.raises(NotFoundError) as error:
        rates.update(change(note="yes"))
    assert error.value.message == missing
    rates.drop("default", "eur")
    assert not modules.list_tables()


def test_an_upgrade_runs_the_new_code_and_repeats_without_effect(
    modules: Modules, rates: DatasetService
) -> None:
    modules.drop("rates-2.0.0.py", SECOND_VERSION)
    assert modules.list_tables() == ["eur"]
    for _ in range(2):
        rates.upgrade("default", "eur")
        assert modules.list_tables() == ["eur", "eur.log"]
    rates.drop("default", "eur")
    assert not modules.list_tables()


def test_a_composite_embeds_a_type_of_another_module(
    modules: Modules, rates: DatasetService
) -> None:
    modules.drop("pair-1.0.0.py", PAIR)
    rates.create(DatasetRequest("both", "pair", {"currency": "EUR"}))
    assert modules.list_tables() == ["both.names", "both.rates", "eur"]
    found = {each.name: each for each in modules.artifacts.list_modules("default")}
    assert (found["pair"].uses_modules, found["rates"].used_by_modules) == (["rates"], ["pair"])
    with pytest.raises(IncompatibleUpdateError, match="both.rates: Cannot change"):
        rates.update(DatasetUpdate("both", {"currency": "USD"}))
    (modules.folder / "pair-1.0.0.py").unlink()
    modules.artifacts.sync()
    rates.drop("default", "both")
    assert modules.list_tables() == ["eur"]


def test_a_second_update_is_judged_against_the_first(
    modules: Modules, rates: DatasetService, monkeypatch: pytest.MonkeyPatch
) -> None:
    types, prepared = DatasetTypes.prepare, []

    def prepare(self: DatasetTypes, *arguments: object) -> object:
        made = types(self, *arguments)
        prepared.append(made)
        if len(prepared) == 1:
            rates.update(change(note="first"))
        return made

    monkeypatch.setattr(DatasetTypes, "prepare", prepare)
    rates.update(change(comment="second"))
    expected = {"currency": "EUR", "note": "first", "comment": "second"}
    assert rates.describe("default", "eur").properties == expected
    assert len(prepared) == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (RATES.replace('"rates"', '"table"'), "'table' is the name of a built-in dataset type"),
        (RATES + "\n\n@dataset_type('rates')\nclass B(Rates): ...\n", "is defined 2 times"),
        (RATES + "\n\n@dataset_type('')\nclass B(Rates): ...\n", "a dataset type needs a name"),
    ],
)
def test_a_wrong_declaration_is_an_error_of_the_artifact(
    modules: Modules, text: str, error: str
) -> None:
    modules.drop("rates-1.0.0.py", text)
    [found] = modules.artifacts.list_artifacts("default", errors=True)
    assert error in (found.error or "")


def declare(type: str = "rates", **properties: str) -> list[StageDataset]:
    return [StageDataset("Sink", DatasetDeclaration("eur", type, properties, "name"))]


def test_a_pipeline_declares_a_dataset_of_a_custom_type(
    modules: Modules, rates: DatasetService
) -> None:
    """Stories 5 and 7: a deployment updates a dataset, or fails before anything is deployed."""
    wider = declare(currency="EUR", note="yes")
    plan = modules.planner.plan("default", wider, "a")
    assert [change.describe() for _, change in plan.changes]
    assert modules.deploy(wider) == ["eur"]
    assert rates.describe("default", "eur").properties == {"currency": "EUR", "note": "yes"}

    def reasons(declared: list[StageDataset]) -> list[str]:
        return [each.message for each in modules.planner.plan("default", declared, "a").failures]

    assert reasons(declare(currency="USD")) == ["Cannot change property 'currency' from EUR to USD"]
    assert reasons(declare("table")) == [
        "Existing dataset 'eur' of type 'rates' may not be updated to type 'table'"
    ]
    [failure] = reasons([StageDataset("Sink", DatasetDeclaration("new", "nothing", {}, "name"))])
    assert failure.startswith("Requested dataset type is not available: nothing")
    [failure] = reasons(declare(currency="EUR", action="raise"))
    assert "disk on fire" in failure


def test_a_deployment_is_not_judged_by_an_older_specification(
    modules: Modules, rates: DatasetService
) -> None:
    declared = declare(currency="EUR", note="yes")
    modules.planner.plan("default", declared, "a")
    rates.update(change(comment="by somebody else"))
    with pytest.raises(ConflictError, match="has changed since the pipeline was checked"):
        modules.deploy(declared)
    modules.planner.plan("default", declared, "a")
    assert modules.deploy(declared) == ["eur"]
