"""Columns of the prep area that look like data about persons, and rules that columns suggest."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from localcdap.api.metadata import MetadataEntity
from localcdap.api.schema import Schema
from localcdap.store.tables import NamespaceTables
from localcdap.tui.routes import PrepTarget
from localcdap.tui.screens.prep.recipe import propose_rules, write_rule
from localcdap.workspace_views import ColumnView, ValueCount, ValueSummary
from tests.tui.screens.prep.test_screen import column, get_screen, opened
from tests.tui.studio_driver import LARGE, SMALL

CARDS = [
    "4111-1111-1111-1111",
    "5500-0000-0000-0004",
    "4012-8888-8888-1881",
    "6011-0000-0000-0004",
    "4222-2222-2222-2220",
]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["small", "large"])
async def test_a_column_with_cards_is_masked_and_tagged(cdap, open_studio, tmp_path, size):
    table = f"payments{size[0]}"
    file = tmp_path / "payments.parquet"
    pq.write_table(pa.table({"id": list(range(5)), "number": CARDS}), file)
    schema = Schema.record("r", [("id", Schema.LONG), ("number", Schema.STRING.as_nullable)])
    store = cdap.tables._tables._store
    with store.transaction() as tx:
        NamespaceTables(store).upsert_parquet(tx, "default", table, schema, "id", [file])
    async with open_studio(target=PrepTarget(table=table), size=size) as driver:
        await opened(driver)
        await driver.press("right")
        assert get_screen(driver).column.profile.meaning.label == "payment card"
        await driver.press("p")
        assert "xxxx-xxxx-xxxx-1111" in column(driver, 1)
        await driver.press("enter")
        assert get_screen(driver).recipe.directives == ["mask-number :number 'xxxx-xxxx-xxxx-####'"]
        await driver.press("u", "p")
        await driver.type("tag")
        await driver.press("enter")
        await driver.settled()
        field = MetadataEntity.of_dataset(table, "default").append("field", "number")
        assert sorted(cdap.metadata.get(field).user.tags) == ["card", "pii"]
        assert get_screen(driver).recipe.directives == []


def profiled(type: str, rows: int, nulls: int, distinct: int, **more) -> ColumnView:
    return ColumnView("c", type, ValueSummary(rows, nulls, 0, distinct, **more))


def test_rules_are_those_that_the_sample_fulfils():
    top = [ValueCount("DE", 7), ValueCount("AT", 3)]

    def written(column: ColumnView) -> list[dict]:
        return [json.loads(write_rule(rule)) for rule in propose_rules(column)]

    assert written(profiled("string", 10, 0, 2, top=top)) == [
        {"rule": "not-null", "column": "c"},
        {"rule": "in-set", "column": "c", "values": ["DE", "AT"]},
    ]
    assert written(profiled("long", 10, 1, 9, lowest="1", highest="12")) == [
        {"rule": "unique", "columns": ["c"]},
        {"rule": "range", "column": "c", "min": 1, "max": 12},
    ]
    assert (
        written(profiled("double", 10, 1, 3, lowest="0.5", highest="NaN"))[-1]["rule"] != "in-set"
    )
    assert written(profiled("string", 0, 0, 0)) == []
