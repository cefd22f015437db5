"""Failures of plugin code in a Python worker, in a form that the driver finds in Spark's error message."""

from __future__ import annotations

import json
import re
import sysconfig
import traceback
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import (
    ErrorDetails,
    LocalcdapError,
    PluginError,
    ProgramFailureError,
    StageError,
)
from localcdap.api.plugin import Plugin, has_override
from localcdap.api.record_json import encode_record
from localcdap.decoders import decode_json

RAISED: Final = (Exception, SystemExit, KeyboardInterrupt)
"""The exceptions of plugin code: a call of ``sys.exit`` must not look like the end of a task."""
_BEGIN: Final = "localcdap-failure:"
_END: Final = ":localcdap-end"
_MARKED: Final = re.compile(re.escape(_BEGIN) + r"(\{.*?\})" + re.escape(_END))
_FOREIGN: Final = tuple(
    {
        Path(__file__).parents[2],
        *(Path(path) for name, path in sysconfig.get_paths().items() if name.endswith("lib")),
    }
)
"""The folders of localcdap, of Python and of the installed libraries."""
_MOST_FRAMES: Final = 8


class Failure(msgspec.Struct):
    """A failure, and the stage in which it occurred."""

    stage: str
    message: str
    corrective_action: str | None = None
    frames: list[str] = []
    """The plugin's own stack frames, innermost last."""
    record: str | None = None
    """The record at fault, as :func:`~localcdap.api.record_json.encode_record` makes it."""
    details: ErrorDetails | None = None
    """The classification of the error, if the plugin or its stage has one."""


class StageFailure(Exception):  # noqa: N818 - the failure of a stage, already attributed
    """Carries a :class:`Failure` through Spark, as part of the exception's text."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(_BEGIN + json.dumps(msgspec.to_builtins(failure)) + _END)
        self.failure: Final = failure

    def __reduce__(self) -> tuple[Any, ...]:
        return StageFailure, (self.failure,)


def to_failure(
    stage: str, error: BaseException, record: Any = None, plugin: Plugin | None = None
) -> StageFailure:
    """Convert an exception of plugin code into a failure of its stage.

    :param record: the record that the plugin was called with; None when it is not known.
    :param plugin: is asked about the exception; None when it is not known.
    """
    if isinstance(error, StageFailure):
        return error
    frames = format_user_frames(error)
    error = ask_plugin(plugin, error)
    details = None
    if isinstance(error, LocalcdapError):
        message, action = error.message, error.corrective_action
        if not isinstance(error, PluginError):  # its message says all
            frames = []
        if isinstance(error, ProgramFailureError | StageError):
            details = error.details
    else:
        message, action = format_exception(error), None
    text = None if record is None else encode_record(record)
    return StageFailure(Failure(stage, message, action, frames, text, details))


def ask_plugin(plugin: Plugin | None, error: BaseException) -> BaseException:
    """Return what a plugin makes of an exception (``Plugin.get_error_details``), or the exception itself."""
    if plugin is None or not has_override(type(plugin), "get_error_details"):
        return error
    if isinstance(error, ProgramFailureError):
        return error
    try:
        return plugin.get_error_details(error) or error
    except RAISED:  # the error that it was asked about matters more
        return error


def format_exception(error: BaseException) -> str:
    """Return the type and the message of an exception; of one without a message, only the type."""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else f"{type(error).__name__}."


def parse_failure(text: str) -> Failure | None:
    """Return the failure that an error message of Spark carries, or None."""
    found = _MARKED.search(text)
    if found is None:
        return None
    try:
        return decode_json(found.group(1), type=Failure)
    except msgspec.DecodeError:
        return None


def format_user_frames(error: BaseException) -> list[str]:
    """Return the last frames of an exception that are neither localcdap's nor a library's, innermost last."""
    return [
        f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if is_user_file(frame.filename)
    ][-_MOST_FRAMES:]


def is_user_file(file: str) -> bool:
    """Return whether a file of a stack frame is neither localcdap's, nor Python's, nor a library's."""
    path = Path(file)
    return path.is_absolute() and not any(map(path.is_relative_to, _FOREIGN))
