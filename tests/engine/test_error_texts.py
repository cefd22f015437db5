"""What Spark raises, in plain words; failures without personal data and without frames of localcdap."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.errors.exceptions.connect import (
    AnalysisException,
    PythonException,
    SparkConnectGrpcException,
)

from localcdap.api.errors import LocalcdapError, NotFoundError, StageError, describe_reason
from localcdap.api.metadata import Metadata, MetadataEntity, ScopedMetadata
from localcdap.engine.driver.run_driver import create_failed
from localcdap.engine.plan.error_attribution import to_stage_error
from localcdap.engine.plan.personal_data import find_personal_fields, hide_personal_values
from localcdap.engine.plan.spark_errors import get_error_kind
from localcdap.engine.tasks.failures import is_user_file, to_failure

ANSI = 'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error.'
UDF = (
    "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent "
    'call last):\n  File "/x/mine.py", line 20, in bad\n    raise ValueError("five")\n'
    "ValueError: five is bad SQLSTATE: 38000"
)


def spark_error(text: str, condition: str | None = None, trace: str = "") -> Exception:
    parameters = None if condition is None else {}
    return SparkConnectGrpcException(
        text, errorClass=condition, messageParameters=parameters, server_stacktrace=trace
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            spark_error(
                "[ARITHMETIC_OVERFLOW] overflow. Use 'try_add' to tolerate overflow and return NULL "
                f"instead. {ANSI} SQLSTATE: 22003\n== SQL (line 1, position 1) ==\na + b\n^^^",
                "ARITHMETIC_OVERFLOW",
            ),
            "a number does not fit the type of the result (overflow).",
        ),
        (
            spark_error(
                "[CAST_INVALID_INPUT] The value 'x' of the type \"STRING\" cannot be cast to "
                '"BIGINT" because it is malformed. Correct the value as per the syntax, or change '
                "its target type. Use `try_cast` to tolerate malformed input and return NULL "
                "instead. SQLSTATE: 22018",
                "CAST_INVALID_INPUT",
            ),
            'The value \'x\' of the type string cannot be cast to long because it is malformed.',
        ),
        (
            spark_error("org.postgresql.util.PSQLException: ERROR: division by zero"),
            "ERROR: division by zero.",
        ),
        (
            spark_error(
                "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a.gz.  "
                "SQLSTATE: KD001",
                "FAILED_READ_FILE.NO_HINT",
                "x\n\tat y\nCaused by: java.io.IOException: not in gzip format\n\tat z",
            ),
            "Encountered error while reading file file:///a.gz: not in gzip format.",
        ),
        (PythonException(UDF), "ValueError: five is bad"),
        (MemoryError(), "MemoryError."),
        (KeyError("a"), "KeyError: 'a'"),
    ],
)  # fmt: skip
def test_what_an_error_says(error, said):
    assert to_stage_error(error, "S").message == f"Stage 'S': {said}"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (spark_error("[DIVIDE_BY_ZERO] Division.", "DIVIDE_BY_ZERO"), "DIVIDE_BY_ZERO"),
        (spark_error("org.postgresql.util.PSQLException: no"), "org.postgresql.util.PSQLException"),
        (spark_error("java.io.IOException: No space left on device"), None),
        (spark_error("Python worker exited unexpectedly (crashed)"), None),
        (AnalysisException("[UNRESOLVED_COLUMN] no"), None),
        (ValueError("no"), None),
    ],
)
def test_only_errors_of_data_are_searched(error, kind):
    assert get_error_kind(error) == kind


def test_frames_are_those_of_code_that_a_user_has_written():
    assert is_user_file("/home/anna/plugins/mine.py")
    assert not is_user_file(pytest.__file__)
    assert not is_user_file(create_failed.__code__.co_filename)
    assert not is_user_file("pyarrow/error.pxi")
    error = to_stage_error(PythonException(UDF), "S")
    assert create_failed(error, str).trace == ["/x/mine.py:20 in bad"]
    assert create_failed(error, str, lambda frame: frame.startswith("/x/")).trace == []


def test_an_error_that_a_plugin_words_itself_has_no_frames():
    assert to_failure("S", StageError("The file is empty.")).failure.frames == []
    assert len(to_failure("S", LocalcdapError("No.")).failure.frames) == 0


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "/x"), "No such file or directory"),
        (OSError("Corrupt snappy\ncompressed data."), "Corrupt snappy compressed data"),
        (EOFError(), "EOFError"),
    ],
)
def test_the_reason_of_an_error_has_no_form_of_python(error, said):
    assert describe_reason(error) == said


PEOPLE = MetadataEntity.of_dataset("people", "default")


def read(entity: MetadataEntity) -> ScopedMetadata:
    if entity.details["dataset"] != "people":
        raise NotFoundError("There is no such dataset.")
    tags = ["PII"] if entity.details["field"] in ("mail", "t") else []
    return ScopedMetadata(user=Metadata(tags=tags))


def test_fields_with_personal_data_have_a_tag_in_a_dataset_that_was_read():
    lost = MetadataEntity.of_dataset("lost", "default")
    assert find_personal_fields([lost, PEOPLE], ["id", "mail"], read) == {"mail"}
    assert find_personal_fields([lost], ["mail"], read) == set()


def test_a_failure_has_no_personal_data():
    error = StageError(
        "Stage 'S': cannot mail to anna@x.de.",
        stage="S",
        record='{"id": 2, "mail": "anna@x.de", "secret": "hunter2"}',
    )
    failed = create_failed(
        error,
        lambda text: text.replace("hunter2", "?"),
        find_personal=lambda stage, names: find_personal_fields([PEOPLE], names, read),
    )
    assert failed.message == (
        "Stage 'S': cannot mail to ***. Record: {id: 2, mail: ***, secret: '?'}"
    )


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Field 't' is not of type int: 'x'.", "Field 't' is not of type int: ***."),
        ("Field 't' must be of type long, but it is 'x 7'. File: f; line: 1,x 7",
         "Field 't' must be of type long, but it is ***. File: f; line: (left out: it has personal data)"),
        ("no: Detail: Key (t)=(a b) exists. Row: id = '2', t = 'a ''b'.",
         "no: Detail: Key (t)=(***) exists. Row: id = '2', t = ***."),
        ("Detail: Failing row contains (2, abc).",
         "Detail: Failing row contains (left out: it has personal data)."),
        ('not numeric: "abc". Row: id = \'2\', t = \'abc\'.',
         'not numeric: "***". Row: id = \'2\', t = ***.'),
        ("Field 'other' is not of type int: 'x'.", "Field 'other' is not of type int: 'x'."),
    ],
)  # fmt: skip
def test_messages_without_the_values_of_fields(message, said):
    assert hide_personal_values(message, ["t"]) == said
    assert hide_personal_values(message, []) == message
