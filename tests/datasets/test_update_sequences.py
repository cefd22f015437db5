"""Any sequence of schema updates: what is allowed, and that the rows keep their values through all of it.

An update is allowed when each column can hold every value that it could hold before. The values that are
tried here are the extreme ones of each type.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from localcdap.api.errors import IncompatibleUpdateError
from localcdap.api.schema import Schema, Type
from localcdap.datasets.instances import DatasetService
from localcdap.datasets.model import DatasetRequest, DatasetUpdate
from localcdap.datasets.storage import AppliedRows
from localcdap.messaging.topics import Topics
from localcdap.metadata.audit import AuditLog
from localcdap.namespaces.service import NamespaceService
from localcdap.store.transactions.operations import Read, Write
from localcdap.testing.instance import open_new_store

SINGLE = struct.unpack("f", struct.pack("f", 0.1))[0]
"""A value of type float."""
VALUES: dict[Schema, list[Any]] = {
    Schema.BOOLEAN: [True],
    Schema.INT: [-(2**31), 2**31 - 1],
    Schema.LONG: [-(2**63), 2**63 - 1],
    Schema.FLOAT: [SINGLE, math.inf],
    Schema.DOUBLE: [0.1, 1e300],
    Schema.STRING: ["", "ä"],
    Schema.BYTES: [b"\0"],
    Schema.decimal(10, 2): [Decimal("99999999.99")],
    Schema.decimal(14, 2): [Decimal("999999999999.99")],
    Schema.decimal(14, 4): [Decimal("9999999999.9999")],
    Schema.array(Schema.INT): [[2**31 - 1]],
    Schema.array(Schema.INT.as_nullable): [[None, 1]],
    Schema.array(Schema.LONG): [[2**63 - 1]],
}


def holds(schema: Schema, value: Any) -> bool:
    """Return whether a column of a type holds a value exactly."""
    if value is None:
        return schema.is_nullable
    inner = schema.non_nullable
    if isinstance(value, list):
        if inner.items is None or inner.items.non_nullable.type is not (
            Type.INT if all(each is None or abs(each) < 2**31 for each in value) else Type.LONG
        ):
            return False  # numbers are not widened inside
        return all(holds(inner.items, each) for each in value)
    if isinstance(value, (bool, str, bytes)):
        return inner.type is {bool: Type.BOOLEAN, str: Type.STRING, bytes: Type.BYTES}[
            type(value)
        ] and (inner.logical_type is None)
    if inner.logical_type is not None:
        return not isinstance(value, float) and fits(inner, Decimal(value))
    if isinstance(value, int):
        bits = {Type.INT: 31, Type.LONG: 63, Type.DOUBLE: 53}.get(inner.type, 0)
        return bits > 0 and -(2**bits) <= value < 2**bits
    if isinstance(value, float):
        single = inner.type is Type.FLOAT and value in (SINGLE, math.inf)
        return inner.type is Type.DOUBLE or single
    return False


def fits(schema: Schema, value: Decimal) -> bool:
    assert schema.precision is not None
    assert schema.scale is not None
    digits, exponent = len(value.as_tuple().digits), -int(value.as_tuple().exponent)
    return exponent <= schema.scale and digits - exponent <= schema.precision - schema.scale


TYPES = st.tuples(st.sampled_from(list(VALUES)), st.booleans()).map(
    lambda drawn: drawn[0].as_nullable if drawn[1] else drawn[0]
)
NAMES = st.sampled_from("abcd")


class Updates(RuleBasedStateMachine):
    """A dataset of the type table that is updated, written and read."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.store = open_new_store(Path(self.folder.name) / "x.duckdb")
        topics = Topics(self.store)
        namespaces = NamespaceService(self.store, topics)
        root = Path(self.folder.name) / "filesets"
        self.datasets = DatasetService(self.store, namespaces, topics, AuditLog(topics), root)
        self.fields: dict[str, Schema] = {}
        self.rows: list[dict[str, Any]] = []

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @initialize(types=st.dictionaries(NAMES, TYPES, min_size=1))
    def create(self, types: dict[str, Schema]) -> None:
        self.datasets.create(DatasetRequest("t", "table", {"schema": to_text(types)}))
        self.fields = types

    @rule(data=st.data())
    def write(self, data: st.DataObject) -> None:
        row = {}
        for name, schema in self.fields.items():
            values = VALUES[schema.non_nullable] + [None] * schema.is_nullable
            row[name] = data.draw(st.sampled_from(values))
        with self.store.transaction() as tx:
            rows = AppliedRows(tx, "default", "t")
            rows.perform(rows.open("t"), Write([row], replaces=True))
        self.rows.append(row)

    @rule(name=NAMES, schema=TYPES)
    def change_field(self, name: str, schema: Schema) -> None:
        """Change the type of a field, or add one."""
        old = self.fields.get(name)
        if old is None:
            is_allowed = schema.is_nullable
        else:
            values = VALUES[old.non_nullable] + [None] * old.is_nullable
            is_allowed = all(holds(schema, each) for each in values)
        self.update({**self.fields, name: schema}, is_allowed)

    @rule(name=NAMES)
    def remove_field(self, name: str) -> None:
        left = {each: schema for each, schema in self.fields.items() if each != name}
        if left:
            self.update(left, left == self.fields)

    @rule(order=st.randoms(use_true_random=False))
    def reorder(self, order: Any) -> None:
        names = list(self.fields)
        order.shuffle(names)
        self.update({name: self.fields[name] for name in names}, is_allowed=True)

    def update(self, fields: dict[str, Schema], is_allowed: bool) -> None:
        change = DatasetUpdate("t", {"schema": to_text(fields)})
        if is_allowed:
            self.datasets.update(change)
            self.fields = fields
            return
        with pytest.raises(IncompatibleUpdateError) as refused:
            self.datasets.update(change)
        assert refused.value.reasons

    @invariant()
    def rows_keep_their_values(self) -> None:
        if not self.fields:
            return
        schema = self.datasets.describe("default", "t").schema
        assert schema is not None
        assert {each.name: each.schema for each in schema} == self.fields
        with self.store.transaction() as tx:
            rows = AppliedRows(tx, "default", "t")
            table = rows.open("t")
            found: Any = rows.perform(table, Read())
        assert {each.name: each.schema for each in table.schema} == self.fields
        names = sorted(self.fields)
        assert sorted(
            repr([normalize(row.get(name)) for name in names]) for row in self.rows
        ) == sorted(
            repr([normalize(table.to_record(values)[name]) for name in names])
            for values in found.values
        )


def normalize(value: Any) -> Any:
    """Return a value in one form for all types that hold it."""
    if isinstance(value, (list, tuple)):
        return [normalize(each) for each in value]
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return Decimal(value).normalize() if math.isfinite(value) else value
    return value


def to_text(fields: dict[str, Schema]) -> str:
    return str(Schema.record("r", fields.items()))


TestUpdates = Updates.TestCase
TestUpdates.settings = settings(max_examples=6, stateful_step_count=15, deadline=None)
