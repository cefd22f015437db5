"""Attribution of errors to stages: what Spark raises becomes the failure of one stage, in plain words.

Spark computes many stages in one action, and its errors quote expressions and JVM stack traces. Three
things lead back to a stage: a :class:`~localcdap.engine.tasks.failures.Failure` that a worker put into the
message, a mark that a plugin put into a column's error (:func:`mark_message`), and the expression that
Spark quotes (:func:`find_failing_stage`).
"""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import LocalcdapError, PluginError, StageError
from localcdap.api.plugin import Grain
from localcdap.api.record_json import MOST_ENCODED, format_record
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.local.lost_task_errors import LOST_ERROR, recover_task_error
from localcdap.engine.messages.flow import Stage
from localcdap.engine.spark_internals import watch_expressions
from localcdap.engine.tasks.failures import Failure, parse_failure

if TYPE_CHECKING:
    from pyspark.sql import Column

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
_NO_MODULE: Final = r"ModuleNotFoundError: No module named '([\w.]+)'"
_GIVE_MODULE: Final = (
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
    (_NO_MODULE, r"Spark's Python workers have no module '\1'.", _GIVE_MODULE),
)
_CRASHED: Final = "Python worker exited unexpectedly"
_OWN_CODE: Final = re.compile(
    r"[/\\](?:localcdap[/\\]engine|pyspark|grpc|concurrent|threading)[/\\.]"
)
_IN_PYTHON: Final = (Grain.RECORD, Grain.BATCH)
_MARK: Final = "localcdap-stage:"
_MARK_END: Final = ":localcdap-end "
RECORD_MARK: Final = " localcdap-record:"
"""Stands in the error message of a column before the JSON of the row, and :data:`_MARK_END` after it."""
_MARKED: Final = re.compile(
    f"{_MARK}(.*?){_MARK_END}(.*?)(?:{RECORD_MARK}(.*?){_MARK_END}|$| SQLSTATE: \\w+)", re.DOTALL
)
_MOST_TEXT: Final = 800
_MOST_FRAMES: Final = 8


_current: Final[ContextVar[str | None]] = ContextVar("stage", default=None)
_texts: Final[dict[str, set[str]]] = {}
"""The stages that have made expressions of a text."""
_MOST_TEXTS: Final = 10_000


@contextlib.contextmanager
def stage_scope(stage: str) -> Iterator[None]:
    """Attribute whatever is raised in the block to the stage, and name the stage in what is logged there."""
    token = _current.set(stage)
    watch_expressions(_get_call_site, _note_text)
    try:
        yield
    except (Exception, SystemExit) as error:
        raise to_stage_error(error, stage) from error
    finally:
        _current.reset(token)


def get_current_stage() -> str | None:
    """Return the stage whose :func:`stage_scope` this thread is in; None outside."""
    return _current.get()


def _get_call_site() -> str | None:
    stage = get_current_stage()
    return None if stage is None else f"{_MARK}{stage}"


def _note_text(text: str) -> None:
    """Remember the text of an expression of the current stage."""
    stage = get_current_stage()
    if stage is not None:
        if len(_texts) >= _MOST_TEXTS:
            _texts.clear()
        _texts.setdefault(text, set()).add(stage)


def is_worker_crash(error: BaseException) -> bool:
    """Return whether all that is known is that a Python worker of Spark ended."""
    cause = error.__cause__
    while cause is not None and cause is not error:  # an error may be raised from itself
        error, cause = cause, cause.__cause__
    return _CRASHED in str(error)


def find_failing_stage(error: BaseException, stages: Sequence[Stage]) -> str | None:
    """Return the only stage that an error of an action can come from; None when several can.

    Spark names the call site of the expression that failed, which is its stage (:func:`stage_scope`), or
    quotes the text that it was parsed from, which only one stage may have used. After a crash of a Python
    worker it says nothing, but only one stage may run in Python.
    """
    if _CRASHED in _get_text(error):
        python = [s.name for s in stages if load_plugin(s.plugin).grain() in _IN_PYTHON]
        return python[0] if len(python) == 1 else None
    names = {stage.name for stage in stages}
    for context in _list_contexts(error):
        if context.contextType().name == "SQL":
            text = context.fragment()
            found = {name for used, by in _texts.items() if text in used for name in by & names}
        else:
            found = {context.callSite().removeprefix(_MARK)} & names
        if len(found) == 1:
            return found.pop()
    return None


def _list_contexts(error: BaseException) -> Sequence[Any]:
    """Return what Spark quotes of the expression that failed, outermost first."""
    get_contexts = getattr(error, "getQueryContext", None)
    return () if get_contexts is None else get_contexts() or ()


def mark_message(stage: str) -> str:
    """Return the prefix of an error message of a column that attributes the error to a stage."""
    return f"{_MARK}{stage}{_MARK_END}"


def mark_record(record: Column) -> Column:
    """Return the end of an error message of a column, from which the failure gets its record.

    :param record: the JSON of the record.
    """
    from pyspark.sql import functions as f

    return f.concat(f.lit(RECORD_MARK), f.left(record, f.lit(MOST_ENCODED)), f.lit(_MARK_END))


def to_stage_error(error: BaseException, stage: str | None = None) -> StageError:
    """Convert an exception into the error of a stage.

    :param stage: the stage when the exception itself does not name one.
    :returns: the error; its notes are the plugin's own stack frames, innermost last.
    """
    if isinstance(error, StageError):
        return _add_stage(error, stage)
    text = _get_text(error)
    failure = parse_failure(text) or _parse_marked(text)
    if failure is not None:
        return _from_failure(failure)
    message, action = _describe(error)
    result = StageError(_add_prefix(message, stage), action, stage=stage)
    frames = error.traceback if isinstance(error, PluginError) else _format_user_frames(error)
    return _add_notes(result, frames)


def add_record(error: StageError, hide: Callable[[str], str] = str) -> StageError:
    """Return the error with the record at fault in its message; the error itself without one.

    :param hide: removes secrets from a text.
    """
    if error.record is None:
        return error
    record = format_record(error.record, hide)
    message = f"{error.message.rstrip('.')}. Record: {record}"
    result = StageError(message, error.corrective_action, stage=error.stage)
    return _add_notes(result, getattr(error, "__notes__", []))


def _parse_marked(text: str) -> Failure | None:
    """Return the failure of a column that a stage marked (:func:`mark_message`), or None."""
    found = _MARKED.search(text)
    if found is None:
        return None
    message = _cut_stack_trace(found[2])
    return Failure(found[1], message, "Correct the data, or the schema.", record=found[3])


def _get_text(error: BaseException) -> str:
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


def _add_stage(error: StageError, stage: str | None) -> StageError:
    if error.stage is not None or stage is None:
        return error
    result = StageError(
        _add_prefix(error.message, stage),
        error.corrective_action,
        stage=stage,
        record=error.record,
    )
    return _add_notes(result, _format_user_frames(error))


def _from_failure(failure: Failure) -> StageError:
    message, remedy = failure.message, failure.corrective_action
    if remedy is None and (missing := re.search(_NO_MODULE, message)):
        message, remedy = f"Spark's Python workers have no module '{missing[1]}'.", _GIVE_MODULE
    message = _add_prefix(message, failure.stage)
    result = StageError(message, remedy, stage=failure.stage, record=failure.record)
    return _add_notes(result, failure.frames)


def _add_prefix(message: str, stage: str | None) -> str:
    return message if stage is None or f"'{stage}'" in message else f"Stage '{stage}': {message}"


def _add_notes(error: StageError, frames: Iterable[str]) -> StageError:
    for frame in frames:
        error.add_note(frame)
    return error


def _explain(error: BaseException) -> tuple[str, str | None]:
    text = _get_text(error)
    for pattern, message, remedy in _SYMPTOMS:
        if found := re.search(pattern, text):
            return found.expand(message), remedy
    condition = _get_condition(error)
    if condition is None:
        return f"{type(error).__name__}: {_cut_stack_trace(str(error))}", None
    known = (a for name, a in _ACTIONS.items() if name in condition or name in text)
    return _cut_stack_trace(_find_innermost_message(text)), next(known, None)


def _describe(error: BaseException) -> tuple[str, str | None]:
    if isinstance(error, LocalcdapError):
        return error.message, error.corrective_action
    return _explain(error)


def _get_condition(error: BaseException) -> str | None:
    """Return the name of Spark's error condition; None for an exception that is not Spark's."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException):
        return None
    return error.getCondition() or ""


def _find_innermost_message(text: str) -> str:
    """Return the message of the innermost known cause in a message that quotes its causes."""
    found = re.findall(r"(\[[A-Z][A-Z_.]+\] .*?)(?:\n|$)", text)
    known: list[str] = [m for m in found if any(f"[{name}" in m for name in _ACTIONS)]
    return known[-1] if known else (found[-1] if found else text)


def _cut_stack_trace(text: str) -> str:
    kept = text.split("JVM stacktrace")[0].split("\n\tat ")[0].strip()
    return kept if len(kept) <= _MOST_TEXT else kept[: _MOST_TEXT - 1] + "…"


def _format_user_frames(error: BaseException) -> list[str]:
    frames: Any = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not _OWN_CODE.search(f.filename)]
    return [f"{f.filename}:{f.lineno} in {f.name}: {f.line}" for f in own[-_MOST_FRAMES:]]
