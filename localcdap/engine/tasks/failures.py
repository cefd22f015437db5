"""Failures of plugin code in a Python worker, in a form that the driver finds in Spark's error message."""

from __future__ import annotations

import json
import re
import traceback
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.errors import LocalcdapError
from localcdap.api.record_json import encode_record
from localcdap.decoders import decode_json

RAISED: Final = (Exception, SystemExit, KeyboardInterrupt)
"""The exceptions of plugin code: a call of ``sys.exit`` must not look like the end of a task."""
_BEGIN: Final = "localcdap-failure:"
_END: Final = ":localcdap-end"
_MARKED: Final = re.compile(re.escape(_BEGIN) + r"(\{.*?\})" + re.escape(_END))
_OWN_FOLDER: Final = str(Path(__file__).parent)
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


class StageFailure(Exception):  # noqa: N818 - the failure of a stage, already attributed
    """Carries a :class:`Failure` through Spark, as part of the exception's text."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(_BEGIN + json.dumps(msgspec.to_builtins(failure)) + _END)
        self.failure: Final = failure

    def __reduce__(self) -> tuple[Any, ...]:
        return StageFailure, (self.failure,)


def to_failure(stage: str, error: BaseException, record: Any = None) -> StageFailure:
    """Convert an exception of plugin code into a failure of its stage.

    :param record: the record that the plugin was called with; None when it is not known.
    """
    if isinstance(error, StageFailure):
        return error
    if isinstance(error, LocalcdapError):
        message, action = error.message, error.corrective_action
    else:
        message, action = f"{type(error).__name__}: {error}", None
    text = None if record is None else encode_record(record)
    return StageFailure(Failure(stage, message, action, _format_user_frames(error), text))


def parse_failure(text: str) -> Failure | None:
    """Return the failure that an error message of Spark carries, or None."""
    found = _MARKED.search(text)
    if found is None:
        return None
    try:
        return decode_json(found.group(1), type=Failure)
    except msgspec.DecodeError:
        return None


def _format_user_frames(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(_OWN_FOLDER)]
    return [f"{f.filename}:{f.lineno} in {f.name}: {f.line}" for f in own[-_MOST_FRAMES:]]
