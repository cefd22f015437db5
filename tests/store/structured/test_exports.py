"""Exports of structured tables: the right rows, in one file that is whole or not there, and their groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from localcdap.api.app import (
    ExportRequest,
    FieldCondition,
    FieldType,
    Grouping,
    InvalidTableFieldError,
    NotFoundError,
    SortOrder,
    StructuredTableSpecification,
)
from localcdap.api.errors import StoreError
from localcdap.store.store import Store
from localcdap.store.structured.admin import StructuredTables
from localcdap.store.structured.exports import StructuredExports

SPEC = StructuredTableSpecification(
    "items",
    fields={
        "id": FieldType.STRING,
        "size": FieldType.LONG,
        "ratio": FieldType.FLOAT,
        "end": FieldType.LONG,
    },
    primary_key=["id"],
)
ROWS = [
    {"id": "a", "size": 3, "ratio": 0.1, "end": None},
    {"id": "b", "size": 1, "ratio": 0.2, "end": 5},
    {"id": "c'); DROP TABLE x; --", "size": 3, "ratio": None, "end": 9},
    {"id": "d", "size": None, "ratio": 0.3, "end": 7},
]
IDS = [row["id"] for row in ROWS]


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StructuredExports]:
    with Store(tmp_path_factory.mktemp("exports") / "db.duckdb") as store:
        tables = StructuredTables(store)
        tables.admin.create_or_update(SPEC)
        tables.transactions.run(lambda tx: tx.table("items").upsert_all(ROWS))
        yield StructuredExports(store, tables.admin)
        tables.close()


def condition(field: str, **what: object) -> list[FieldCondition]:
    return [FieldCondition(field=field, **what)]


@pytest.mark.parametrize(
    ("where", "places"),
    [
        ([], [0, 1, 2, 3]),
        ([condition("size", minimum=2)], [0, 2]),
        ([condition("size", maximum=3)], [1]),
        ([condition("size", minimum=1, maximum=1)], []),
        ([condition("size", values=[1, 3])], [0, 1, 2]),
        ([condition("size", excluded=[3])], [1]),  # a null meets nothing
        ([condition("size", values=[])], []),
        ([condition("size", excluded=[])], [0, 1, 2]),
        ([condition("size", is_null=True)], [3]),
        ([condition("size", is_null=False)], [0, 1, 2]),
        ([condition("end", is_null=True) + condition("end", minimum=7)], [0, 2, 3]),
        ([condition("size", values=[3]), condition("end", maximum=10)], [2]),
        ([condition("ratio", values=[0.1])], [0]),  # 32 bits
        ([condition("id", values=["c'); DROP TABLE x; --"])], [2]),
    ],
)
def test_conditions(exports, tmp_path, where, places):
    file = tmp_path / "out.parquet"
    request = ExportRequest(table="items", columns=["id"], where=where, order_by="id")

    exported = exports.export(request, file)

    assert pq.read_table(file).column("id").to_pylist() == [IDS[place] for place in places]
    assert exported.count == len(places)


@pytest.mark.parametrize(
    ("order", "places"), [(SortOrder.ASC, [1, 0, 2, 3]), (SortOrder.DESC, [0, 2, 1, 3])]
)
def test_order(exports, tmp_path, order, places):
    file = tmp_path / "a 'file'.parquet"
    exports.export(
        ExportRequest(table="items", columns=["id", "size"], order_by="size", order=order), file
    )

    assert pq.read_table(file).column("id").to_pylist() == [IDS[place] for place in places]
    assert [each.name for each in tmp_path.iterdir()] == [file.name]


def test_groups(exports, tmp_path):
    request = ExportRequest(
        table="items",
        columns=["id"],
        where=[condition("id", excluded=["d"])],
        groupings=[Grouping(["size"], ["end"]), Grouping([], ["size", "ratio"])],
    )

    by_size, (whole,) = exports.export(request, tmp_path / "out").groups

    assert [(each.values, each.count) for each in by_size] == [([1], 1), ([3], 2)]
    assert [each.measures["end"].average for each in by_size] == [5.0, 9.0]
    size = whole.measures["size"]
    assert (whole.count, size.minimum, size.maximum) == (3, 1, 3)
    assert size.average == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": ["nothing"]},
        {"columns": []},
        {"order_by": "nothing"},
        {"where": [condition("nothing", values=[1])]},
        {"where": [condition("size", values=["x"])]},
        {"where": [condition("size", minimum=2**70)]},
        {"groupings": [Grouping(["nothing"])]},
        {"groupings": [Grouping([], ["id"])]},
    ],
)
def test_what_does_not_fit_the_table(exports, tmp_path, wrong):
    with pytest.raises(InvalidTableFieldError):
        exports.export(
            ExportRequest(**{"table": "items", "columns": ["id"], **wrong}), tmp_path / "x"
        )

    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_an_export_that_fails(exports, tmp_path):
    missing: Path = tmp_path / "missing" / "out"
    with pytest.raises(NotFoundError, match="no structured table 'other'|other"):
        exports.export(ExportRequest(table="other", columns=["id"]), tmp_path / "x")
    with pytest.raises(StoreError):
        exports.export(ExportRequest(table="items", columns=["id"]), missing)

    assert not list(tmp_path.iterdir())
