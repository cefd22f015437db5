"""Attribution of errors to stages: what Spark raises becomes the failure of one stage, in plain words.

Spark computes many stages in one action, and its errors quote expressions and JVM stack traces. Three
things lead back to a stage: a :class:`~localcdap.engine.tasks.failures.Failure` that a worker put into the
message, a mark that a plugin put into a column's error (:func:`mark_message`), and the expression that
Spark quotes (:func:`find_failing_stage`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import (
    ErrorDetails,
    LocalcdapError,
    PluginError,
    ProgramFailureError,
    StageError,
)
from localcdap.api.plugin import Grain, Plugin
from localcdap.api.record_json import MOST_ENCODED, format_record, read_record
from localcdap.artifacts.loading import load_plugin
from localcdap.engine.messages.flow import Stage
from localcdap.engine.plan.personal_data import hide_personal_values
from localcdap.engine.plan.spark_errors import (
    GIVE_MODULE,
    NO_MODULE,
    cut_stack_trace,
    explain_spark_error,
    list_python_frames,
    read_error_text,
)
from localcdap.engine.spark_internals import watch_expressions
from localcdap.engine.tasks.failures import (
    Failure,
    ask_plugin,
    format_user_frames,
    is_user_file,
    parse_failure,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

_CRASHED: Final = "Python worker exited unexpectedly"
_IN_PYTHON: Final = (Grain.RECORD, Grain.BATCH)
_MARK: Final = "localcdap-stage:"
_MARK_END: Final = ":localcdap-end "
RECORD_MARK: Final = " localcdap-record:"
"""Stands in the error message of a column before the JSON of the row, and :data:`_MARK_END` after it."""
_MARKED: Final = re.compile(
    f"{_MARK}(.*?){_MARK_END}(.*?)(?:{RECORD_MARK}(.*?){_MARK_END}|$| SQLSTATE: \\w+)", re.DOTALL
)

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
        converted = to_stage_error(error, stage)
        if converted is error:  # raised from itself, it would lose its cause
            raise
        raise converted from error
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
    return _CRASHED in str(find_root(error))


def find_root(error: BaseException) -> BaseException:
    """Return the error from which another one was raised, over all steps."""
    cause = error.__cause__
    while cause is not None and cause is not error:  # an error may be raised from itself
        error, cause = cause, cause.__cause__
    return error


def is_attributed(error: BaseException) -> bool:
    """Return whether an error of Spark carries the failure of a stage."""
    text = read_error_text(error)
    return parse_failure(text) is not None or _parse_marked(text) is not None


def find_failing_stage(error: BaseException, stages: Sequence[Stage]) -> str | None:
    """Return the only stage that an error of an action can come from; None when several can.

    Spark names the call site of the expression that failed, which is its stage (:func:`stage_scope`), or
    quotes the text that it was parsed from, which only one stage may have used. Of an exception in Python it
    quotes the traceback, in which the file of a plugin may be of one stage only. After a crash of a Python
    worker it says nothing, but only one stage may run in Python.
    """
    if _CRASHED in read_error_text(error):
        python = [s.name for s in stages if load_plugin(s.plugin).grain() in _IN_PYTHON]
        return python[0] if len(python) == 1 else None
    names = {stage.name for stage in stages}
    for file, _ in reversed(list_python_frames(read_error_text(error))):
        within = [s.name for s in stages if Path(file).is_relative_to(s.plugin.path)]
        if within:  # code of a plugin; of several stages, the search tells
            return within[0] if len(within) == 1 else None
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


def to_stage_error(
    error: BaseException,
    stage: str | None = None,
    *,
    place: str | None = None,
    plugin: Plugin | None = None,
) -> StageError:
    """Convert an exception into the error of a stage.

    :param stage: the stage when the exception itself does not name one.
    :param place: what failed in the stage, such as ``field 'total'``.
    :param plugin: of the stage; is asked about the exception.
    :returns: the error; its notes are the stack frames of the author's own code, innermost last.
    """
    if isinstance(error, StageError):
        return _add_stage(error, stage)
    text = read_error_text(error)
    failure = parse_failure(text) or _parse_marked(text)
    if failure is not None:
        return _from_failure(failure)
    frames = format_user_frames(error)
    quoted = [frame for file, frame in list_python_frames(text) if is_user_file(file)]
    frames = frames or quoted
    said = ask_plugin(plugin, error)
    message, action, details = _describe(said)
    if place is not None and place not in message:
        message = f"{place}: {message}"
    result = StageError(_add_prefix(message, stage), action, stage=stage, details=details)
    return _add_notes(result, error.traceback if isinstance(error, PluginError) else frames)


def describe_place(error: BaseException, field: str | None) -> str | None:
    """Return what failed in a stage: a field, or the text of the expression that Spark quotes; else None.

    :param field: the output field that cannot be computed; None when it is not known.
    """
    if field is not None:
        return f"field '{field}'"
    for context in _list_contexts(error):
        if context.contextType().name == "SQL" and context.fragment():
            return f"the expression '{context.fragment()}'"
    return None


def add_record(
    error: StageError,
    hide: Callable[[str], str] = str,
    find_personal: Callable[[Collection[str]], Collection[str]] = lambda _: (),
) -> StageError:
    """Return the error with the record at fault in its message, without secrets and personal data.

    :param hide: removes secrets from a text.
    :param find_personal: returns which of some fields, or of all of the stage, hold personal data.
    """
    record = None if error.record is None else read_record(error.record)
    personal = find_personal(record or ())
    message = hide_personal_values(error.message, personal, record or {})
    if error.record is not None:
        shown = format_record(error.record, hide, personal)
        message = f"{message.rstrip('.')}. Record: {shown}"
    if message == error.message:
        return error
    result = StageError(message, error.corrective_action, stage=error.stage, details=error.details)
    return _add_notes(result, getattr(error, "__notes__", []))


def _parse_marked(text: str) -> Failure | None:
    """Return the failure of a column that a stage marked (:func:`mark_message`), or None."""
    found = _MARKED.search(text)
    if found is None:
        return None
    message = cut_stack_trace(found[2])
    return Failure(found[1], message, "Correct the data, or the schema.", record=found[3])


def _add_stage(error: StageError, stage: str | None) -> StageError:
    if error.stage is not None or stage is None:
        return error
    result = StageError(
        _add_prefix(error.message, stage),
        error.corrective_action,
        stage=stage,
        record=error.record,
        details=error.details,
    )
    return _add_notes(result, getattr(error, "__notes__", []))


def _from_failure(failure: Failure) -> StageError:
    message, remedy = failure.message, failure.corrective_action
    if remedy is None and (missing := re.search(NO_MODULE, message)):
        message, remedy = f"Spark's Python workers have no module '{missing[1]}'.", GIVE_MODULE
    message = _add_prefix(message, failure.stage)
    result = StageError(
        message, remedy, stage=failure.stage, record=failure.record, details=failure.details
    )
    return _add_notes(result, failure.frames)


def _add_prefix(message: str, stage: str | None) -> str:
    return message if stage is None or f"'{stage}'" in message else f"Stage '{stage}': {message}"


def _add_notes(error: StageError, frames: Iterable[str]) -> StageError:
    for frame in frames:
        error.add_note(frame)
    return error


def _describe(error: BaseException) -> tuple[str, str | None, ErrorDetails | None]:
    if isinstance(error, LocalcdapError):
        details = error.details if isinstance(error, ProgramFailureError) else None
        return error.message, error.corrective_action, details
    return explain_spark_error(error)
