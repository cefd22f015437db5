"""CDAP's FieldValidatorTest, FieldTypeTest and TransactionRunnersTest, by number; rules of specifications."""

from __future__ import annotations

import pytest

from localcdap.api.app import (
    Bound,
    FieldType,
    InvalidTableFieldError,
    Range,
    StructuredTableSpecification,
    TableUsageError,
)
from localcdap.api.errors import NotFoundError

from .conftest import Instance, Simple

T = FieldType


@pytest.fixture
def table(instance: Instance) -> Simple:
    instance.admin.create_or_update(
        StructuredTableSpecification(
            "validated",
            fields={"key": T.INTEGER, "key2": T.LONG, "key3": T.STRING, "col1": T.STRING},
            primary_key=["key", "key2", "key3"],
        )
    )
    return Simple(instance.transactions, "validated")


@pytest.mark.parametrize(
    "key", [(1, 2, "x"), [1, 2, "x"], {"key": 1, "key2": 2**40, "key3": "x"}], ids=str
)
def test_D1_whole_keys(table: Simple, key):
    assert table.do(lambda t: t.read(key)) is None


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            (1.0, 2, "x"),
            "Wrong type for field key in table validated. Expected INTEGER, actual FLOAT",
        ),
        ((2**31, 2, "x"), "Expected INTEGER, actual LONG"),
        ((1, 2**63, "x"), "Expected LONG, actual int"),
        ((True, 2, "x"), "Expected INTEGER, actual BOOLEAN"),
        ((1, 2, "\ud800"), "Expected STRING, actual str"),
        ((1, 2, None), "key3 of table validated is a primary key but the value is null"),
        ((1, 2), "key, key2 are not all of the primary key"),
        ((), "none are not all of the primary key"),
        ((1, 2, "x", "y"), "4 values are more than the primary key"),
        ({"key2": 1, "key": 2, "key3": "x"}, "not all of the primary key"),
        ({"key": 2, "key2": 1, "col1": "x"}, "not all of the primary key"),
        ({"key": 2, "key2": 1, "key9": "x"}, "Field key9 is not part of the schema"),
        ("abc", "cannot be a str"),
        (7, "cannot be a int"),
    ],
    ids=str,
)
def test_D1_keys_that_are_refused(table: Simple, key, message):
    def body(t) -> None:
        for use in (t.read, t.delete, lambda key: t.multi_read([key])):
            with pytest.raises(TableUsageError, match=message):
                use(key)

    table.do(body)


def test_D1_prefixes(table: Simple):
    rows = [{"key": 1, "key2": i, "key3": "x"} for i in range(3)]
    table.fill(rows)

    table.do(lambda t: t.delete_all(Range.singleton((1, 1))))
    assert table.scan() == [0, 2]
    table.do(lambda t: t.delete_all(Range.singleton((1,))))
    assert table.scan() == []


def test_D2_ranges_to_scan(table: Simple):
    for fine in (
        Range.all(),
        Range({"key": 10, "key2": 110}, {"key": 20, "key2": 100}),
        Range((10,), (20,), end_bound=Bound.INCLUSIVE),
    ):
        assert table.scan(fine) == []
    for wrong, message in (
        (Range({"col1": "x"}), "col1 do not start with the first primary key"),
        (Range(end={"col1": "x"}), "col1 do not start with the first primary key"),
        (Range({"key2": 5}), "key2 do not start with the first primary key"),
        (Range({"nothing": 5}), "Field nothing is not part of the schema"),
        (
            Range({"col1": 5}),
            "Wrong type for field col1",
        ),  # before it is said to be in a wrong place
    ):
        with pytest.raises(InvalidTableFieldError, match=message):
            table.scan(wrong)
        with pytest.raises(InvalidTableFieldError, match=message):
            table.multi_scan([wrong])


def test_D3_some_of_the_key(table: Simple):
    delete = lambda key: table.do(lambda t: t.scan_delete_all(Range.singleton(key)))  # noqa: E731

    delete((1, 2, "x"))
    delete((1,))
    delete({"key2": 3, "key3": "x"})
    with pytest.raises(InvalidTableFieldError, match="Expected INTEGER, actual FLOAT"):
        delete({"key": 1.0})
    with pytest.raises(InvalidTableFieldError, match="key4 is not part"):
        delete({"key": 1, "key2": 2, "key3": "x", "key4": 1})


def test_E2_types_that_hold_others():
    accepted = {(a, b) for a in FieldType for b in FieldType if a.accepts(b)}

    assert accepted == {(t, t) for t in FieldType} | {(T.LONG, T.INTEGER), (T.DOUBLE, T.FLOAT)}


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (-(2**31), T.INTEGER),
        (2**31, T.LONG),
        (-(2**63), T.LONG),
        (2**63, None),
        (1.0, T.FLOAT),
        (1e300, T.DOUBLE),
        (float("nan"), T.FLOAT),
        (float("-inf"), T.FLOAT),
        ("é", T.STRING),
        (b"", T.BYTES),
        (False, T.BOOLEAN),
        (object(), None),
        ([1], None),
    ],
)
def test_E2_types_of_values(value, type):
    assert FieldType.of(value) is type


@pytest.mark.parametrize("kind", [ValueError, NotFoundError, OSError, KeyboardInterrupt])
def test_E3_exceptions_of_the_body_come_out_as_they_are(table: Simple, kind):
    error = kind(
        "own"
    )  # as a parameter it would keep the store, by its traceback, until the process ends

    def body(t) -> None:
        t.upsert({"key": 1, "key2": 1, "key3": "x"})
        raise error

    with pytest.raises(kind) as caught:
        table.do(body)

    assert caught.value is error
    assert table.rows() == []


NAMES = "Only alphanumeric and _ characters allowed, and should begin with an alphabet"


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"table": ""}, TableUsageError, "StructuredTableId cannot be empty"),
        ({"table": "1t"}, TableUsageError, f"Invalid table name 1t. {NAMES}"),
        ({"table": "t\n"}, TableUsageError, "Invalid table name t\n."),
        ({"fields": {}}, TableUsageError, "No fieldTypes specified for the table t"),
        ({"primary_key": []}, TableUsageError, "No primary keys specified for the table t"),
        ({"fields": {"a-b": T.LONG}}, TableUsageError, f"Invalid field name a-b. {NAMES}"),
        (
            {"fields": {"k": T.LONG, "K": T.LONG}},
            TableUsageError,
            "k and K of table t differ only in case",
        ),
        (
            {"primary_key": ["x"]},
            InvalidTableFieldError,
            "Field x is not part of the schema of table t",
        ),
        (
            {"primary_key": ["d"]},
            InvalidTableFieldError,
            "d of table t has wrong type for a primary key",
        ),
        ({"primary_key": ["k", "k"]}, TableUsageError, "named twice"),
        (
            {"indexes": ["x"]},
            InvalidTableFieldError,
            "Field x of table t is not defined as an index",
        ),
        (
            {"indexes": ["d"]},
            InvalidTableFieldError,
            "d of table t has wrong type for an index column",
        ),
        # The order of the rules.
        ({"table": "1", "fields": {}}, TableUsageError, "Invalid table name"),
        ({"fields": {}, "primary_key": []}, TableUsageError, "No fieldTypes"),
        (
            {"primary_key": ["d"], "indexes": ["x"]},
            InvalidTableFieldError,
            "primary key. Valid types",
        ),
    ],
)
def test_rules_of_specifications(parts, error, message):
    known = {"table": "t", "fields": {"k": T.LONG, "d": T.DOUBLE}, "primary_key": ["k"]}

    with pytest.raises(ValueError) as caught:
        StructuredTableSpecification(**(known | parts))

    assert type(caught.value) is error
    assert message in str(caught.value)


def test_an_error_of_a_field_knows_table_and_fields(table: Simple):
    with pytest.raises(InvalidTableFieldError) as caught:
        table.do(lambda t: t.upsert({"key": 1, "key2": 1, "key3": "x", "what": 1}))

    assert (caught.value.table, caught.value.fields) == ("validated", ["what"])
    assert caught.value.corrective_action == "Use one of: key, key2, key3, col1."
