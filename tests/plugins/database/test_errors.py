"""What databases report, and what fails beside them."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from database_plugins.jdbc import call_database, explain_database_error
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from localcdap.api.errors import StageError

URL = "jdbc:postgresql://db:5432/shop"
REFUSED = (
    "java.sql.BatchUpdateException: Batch entry 2 INSERT INTO \"public\".\"t\" (\"id\",\"a b\") VALUES "
    "(('2'::int4),({})) was aborted: ERROR: no  Call getNextException to see other errors.\n"
    "\tat org.postgresql\nCaused by: org.postgresql.util.PSQLException: ERROR: no\n\tat x"
)  # fmt: skip


class Context:
    def read_error_text(self, error):
        return str(error)

    def fail(self, message, corrective_action=None):
        return StageError(message, corrective_action)


def ask(text, condition=None):
    def fail():
        parameters = None if condition is None else {}
        raise SparkConnectGrpcException(text, errorClass=condition, messageParameters=parameters)

    return call_database(Context(), URL, fail)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("'x'", "'x'"),
        ("'it''s (1)'::numeric", "'it''s (1)'"),
        ("NULL", "NULL"),
        (f"'{'y' * 100}'", f"'{'y' * 59}…"),
    ],
)
def test_the_row_that_postgresql_refuses_is_shown(value, shown):
    with pytest.raises(StageError) as caught:
        ask(REFUSED.format(value))

    expected = f"the database at db:5432 reports an error: ERROR: no. Row: id = '2', a b = {shown}."
    assert caught.value.message == expected
    assert caught.value.__cause__ is None


def test_an_error_without_a_row_may_be_that_of_a_source():
    with pytest.raises(StageError, match="reports an error: ERROR: no") as caught:
        ask("org.postgresql.util.PSQLException: ERROR: no")

    assert isinstance(caught.value.__cause__, PySparkException)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ('Job aborted: localcdap-failure:{"stage": "T"}:localcdap-end', None),
        ("[USER_RAISED_EXCEPTION] localcdap-stage:T:localcdap-end no", "USER_RAISED_EXCEPTION"),
        ("[ARITHMETIC_OVERFLOW] overflow.", "ARITHMETIC_OVERFLOW"),
    ],
)
def test_the_failure_of_another_stage_is_none_of_the_database(text, condition):
    with pytest.raises(PySparkException):
        ask(text, condition)


def test_the_errors_of_a_source_are_classified():
    found = explain_database_error(RuntimeError("java.sql.SQLException: division by zero"))
    assert found.message == "the database reports an error: division by zero."
    assert (found.details.type, found.details.dependency) == ("USER", True)
    assert explain_database_error(ValueError("no")) is None
