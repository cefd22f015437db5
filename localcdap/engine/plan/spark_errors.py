"""What Spark raises in plain words, without Spark's advice, stack traces and class names.

Spark's messages are written for people who write SQL in a notebook. They begin with the name of a condition,
end with an SQLSTATE, and advise functions and settings that a pipeline has no place for. The name of the
condition is kept as the code of the error (:class:`~localcdap.api.errors.ErrorDetails`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from localcdap.api.errors import ErrorDetails
from localcdap.engine.local.lost_task_errors import LOST_ERROR, recover_task_error

_ACTIONS: Final[Mapping[str, str]] = {
    "PATH_NOT_FOUND": "Check the path, or map it under [locations] in localcdap.toml.",
    "PATH_ALREADY_EXISTS": "Remove the directory, or write to another path.",
    "MALFORMED_RECORD_IN_PARSING": "Correct the data, or the format and schema of the source.",
    "MALFORMED_CSV_RECORD": "Correct the data, or the format and schema of the source.",
    "FAILED_READ_FILE": "Check that the files are of the source's format and schema.",
    "CANNOT_READ_FILE_FOOTER": "Check that the files are of the source's format.",
    "ARITHMETIC_OVERFLOW": "Use a wider type, for example long, double or a decimal of more digits.",
    "NUMERIC_VALUE_OUT_OF_RANGE": "Use a wider type, for example a decimal of more digits.",
    "DIVIDE_BY_ZERO": "Filter out the zeros, or divide by nullif(divisor, 0).",
    "CAST_INVALID_INPUT": "Correct the data, or use a type that its values fit, such as string.",
    "CAST_OVERFLOW": "Use a wider type.",
    "CANNOT_PARSE_TIMESTAMP": "Correct the data, or the date pattern.",
    "UNRESOLVED_COLUMN": "Choose a field that the input of the stage has.",
    "PARSE_SYNTAX_ERROR": "Correct the expression.",
    "UNRESOLVED_ROUTINE": "Use a function that Spark SQL has.",
    "TABLE_OR_VIEW_NOT_FOUND": "Check the name of the table.",
}
NO_MODULE: Final = r"ModuleNotFoundError: No module named '([\w.]+)'"
GIVE_MODULE: Final = (
    "Install it for their Python; or name it in 'packages' of the profile, if they are a cluster's."
)
_SYMPTOMS: Final = (
    (r"No space left on device", "the disk is full.", "Free some space and run again."),
    (r"Permission denied|AccessControlException", "access was denied.", "Check the permissions."),
    (
        r"OutOfMemoryError|GC overhead limit",
        "Spark ran out of memory.",
        "Give it more with engine.memory in localcdap.toml, and restart the engine.",
    ),
    (
        r"Python worker exited unexpectedly",
        "the Python process in which records are computed crashed, or a plugin ended it.",
        "Look for os._exit, for native code and for much memory in the plugins up to this stage.",
    ),
    (NO_MODULE, r"Spark's Python workers have no module '\1'.", GIVE_MODULE),
)
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z_]+(?:\.[A-Z_0-9]+)*)\] ")
_NOISE: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"\s*SQLSTATE: \w+(?=\s*$)",
        r'\s*If necessary set "spark\.[^"]*" to "[^"]*" to bypass this error\.',
        r"\s*Use [`'\"]?try_\w+[`'\"]? to tolerate .*? return NULL instead\.",
        r"\s*Correct the value as per the syntax, or change its target type\.",
        r"\s*== (?:DataFrame|SQL).*",
    )
)
_JAVA_CLASS: Final = re.compile(r"^((?:[a-z_]\w*\.)+[A-Z][\w$]*): ")
_CAUSED_BY: Final = re.compile(r"^Caused by: (?:[\w.$]+): (.+)$", re.MULTILINE)
_TRACEBACK: Final = "Traceback (most recent call last):"
_PYTHON_FRAME: Final = re.compile(r'^  File "(.+?)", line (\d+), in (.+)$', re.MULTILINE)
_TYPES: Final = {
    "BIGINT": "long",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NTZ": "datetime",
    "BINARY": "bytes",
}
_TYPE: Final = re.compile(r'"([A-Z_]+(?:\(\d+,\s?\d+\))?)"')
_SHORT: Final = re.compile(r"^(?:\w+ )?overflow\.?$", re.IGNORECASE)
_OVERFLOW: Final = "a number does not fit the type of the result (overflow)."
_NOT_OF_DATA: Final = ("AnalysisException", "ParseException")
_MOST_TEXT: Final = 800


def read_error_text(error: BaseException) -> str:
    """Return the message of an error and of its cause, with the original error where Spark lost it."""
    text = "\n".join(str(each) for each in (error, error.__cause__) if each is not None)
    if LOST_ERROR not in text:
        return text
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql.connect.session import SparkSession

    try:
        return recover_task_error(text, SparkSession.active())
    except PySparkRuntimeError:
        return text


def get_condition(error: BaseException) -> str | None:
    """Return the name of Spark's error condition; None for an exception that is not Spark's."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException):
        return None
    return error.getCondition() or ""


def get_error_kind(error: BaseException) -> str | None:
    """Return what errors of one cause have in common, when Spark met it while it computed records; else None.

    It is the name of the condition, or the class of the Java exception.
    """
    condition, text = get_condition(error), read_error_text(error)
    is_known = any(re.search(pattern, text) for pattern, _, _ in _SYMPTOMS)
    if condition is None or is_known or type(error).__name__ in _NOT_OF_DATA:
        return None
    found = _CONDITION.match(_find_innermost(text))
    java = _JAVA_CLASS.match(text)
    return found[1] if found else condition or (java[1] if java else "")


def explain_spark_error(error: BaseException) -> tuple[str, str | None, ErrorDetails | None]:
    """Return what an exception of Spark, or any other one, says: a message, what helps, and its code."""
    text = read_error_text(error)
    for pattern, message, remedy in _SYMPTOMS:
        if found := re.search(pattern, text):
            return found.expand(message), remedy, None
    condition = get_condition(error)
    if condition is None:
        kind, said = type(error).__name__, cut_stack_trace(str(error))
        return f"{kind}: {said}" if said else f"{kind}.", None, None
    known = (action for name, action in _ACTIONS.items() if name in condition or name in text)
    if _TRACEBACK in text:
        return _find_python_message(text), next(known, None), None
    message = _find_innermost(text)
    found = _CONDITION.match(message)
    code = found[1] if found else condition
    details = ErrorDetails(code_type="SPARK", code=code) if code else None
    message = _clean(message)
    if code.startswith(("FAILED_READ_FILE", "CANNOT_READ_FILE")):
        message = _add_cause(message, error)
    return message, next(known, None), details


def list_python_frames(text: str) -> list[tuple[str, str]]:
    """Return the frames of a Python exception that Spark quotes: the file, and the frame as text."""
    if _TRACEBACK not in text:
        return []
    return [
        (file, f"{file}:{line} in {name}")
        for file, line, name in _PYTHON_FRAME.findall(text.partition(_TRACEBACK)[2])
    ]


def cut_stack_trace(text: str) -> str:
    """Return a message without a stack trace of Java, cut when it is long."""
    kept = text.split("JVM stacktrace")[0].split("\n\tat ")[0].strip()
    return kept if len(kept) <= _MOST_TEXT else kept[: _MOST_TEXT - 1] + "…"


def _clean(text: str) -> str:
    """Return the message of a condition, or of a Java exception, as a sentence."""
    text = cut_stack_trace(text)
    text = _JAVA_CLASS.sub("", _CONDITION.sub("", text, count=1), count=1)
    for noise in _NOISE:
        text = noise.sub("", text)
    text = _TYPE.sub(lambda found: _name_type(found[1]), " ".join(text.split()))
    if _SHORT.match(text):
        return _OVERFLOW
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _name_type(name: str) -> str:
    """Return the name of a type of Spark in a schema, such as ``long``."""
    return _TYPES.get(name, name.lower())


def _find_python_message(text: str) -> str:
    """Return the exception at the end of the traceback that Spark quotes."""
    lines = text.rpartition(_TRACEBACK)[2].split("\n")
    first = next(
        (n for n, line in enumerate(lines) if line and not line.startswith((" ", "\t"))), None
    )
    if first is None:
        return "A Python function failed."
    said = [line for line in lines[first:] if line.strip()]
    end = next((n for n, line in enumerate(said) if line.startswith(("\tat ", "Driver "))), None)
    message = re.sub(r"\s*SQLSTATE: \w+$", "", " ".join(said[:end]).strip())
    return cut_stack_trace(message) or "A Python function failed."


def _add_cause(message: str, error: BaseException) -> str:
    """Add why a file cannot be read, which only Java's causes say."""
    get_trace = getattr(error, "getStackTrace", None)
    causes = _CAUSED_BY.findall((get_trace() if get_trace is not None else None) or "")
    if not causes or causes[-1].rstrip(".") in message:
        return message
    return f"{message.rstrip('.')}: {' '.join(causes[-1].split()).rstrip('.')}."


def _find_innermost(text: str) -> str:
    """Return the message of the innermost known cause in a message that quotes its causes."""
    found = re.findall(r"(\[[A-Z][A-Z_.0-9]+\] .*?)(?:\n|$)", text)
    known: list[str] = [m for m in found if any(f"[{name}" in m for name in _ACTIONS)]
    return known[-1] if known else (found[-1] if found else text)
