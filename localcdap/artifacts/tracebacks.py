"""Exceptions of user code, reduced to the frames in the artifact's own code."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Final

from localcdap.api.errors import LocalcdapError, PluginError

_SHOWN_FRAMES: Final = 30
_DUMPED: Final = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


def user_frames(error: BaseException, path: Path) -> list[str]:
    """Return the frames of an exception in the artifact at ``path``, innermost last, and the exception.

    A frame is ``module.py:12 in method: source line``, the file relative to the artifact.
    """
    frames = [
        f"{_to_relative(frame.filename, path)}:{frame.lineno} in {frame.name}: {frame.line or ''}"
        for frame in _find_frames(error, path)[-_SHOWN_FRAMES:]
    ]
    return [*frames, _format_exception(error)]


def to_plugin_error(who: str, error: BaseException, path: Path) -> PluginError:
    """Return an exception of user code as a PluginError with the frames in the artifact at ``path``.

    :param who: the beginning of the message.
    """
    if isinstance(error, LocalcdapError):
        message, action = error.message, error.corrective_action
    else:
        message, action = f"{type(error).__name__}: {error}", None
    return PluginError(f"{who}: {message}", action, traceback=user_frames(error, path))


def parse_dumped_frames(dump: str, path: Path) -> list[str]:
    """Return the frames in the artifact at ``path`` from a dump of ``faulthandler``, innermost last."""
    # Only the last dump counts; it lists the innermost frame first.
    last = dump[max(dump.rfind("(most recent call first)"), 0) :]
    return [
        f"{_to_relative(found[1], path)}:{found[2]} in {found[3]}"
        for found in _DUMPED.finditer(last)
        if _is_inside(found[1], path)
    ][:_SHOWN_FRAMES][::-1]


def summarize_error(error: BaseException, path: Path) -> str:
    """Return ``module.py:12: ValueError: text`` with the innermost position in the artifact."""
    if isinstance(error, SyntaxError) and error.filename and _is_inside(error.filename, path):
        return f"{_to_relative(error.filename, path)}:{error.lineno}: {type(error).__name__}: {error.msg}"
    what = _format_exception(error)
    frames = _find_frames(error, path)
    if not frames:
        return what
    innermost = frames[-1]
    scope = "" if innermost.name == "<module>" else f" in {innermost.name}"
    return f"{_to_relative(innermost.filename, path)}:{innermost.lineno}{scope}: {what}"


def _find_frames(error: BaseException, path: Path) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if _is_inside(frame.filename, path)]


def _is_inside(filename: str, path: Path) -> bool:
    return Path(filename).is_relative_to(path)


def _to_relative(filename: str, path: Path) -> str:
    inner = Path(filename).relative_to(path)
    return path.name if inner == Path() else inner.as_posix()


def _format_exception(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip()
