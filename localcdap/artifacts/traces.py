"""Exceptions of user code, told from the point of view of its author."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Final

_SHOWN_FRAMES: Final = 30


def own_frames(error: BaseException, path: Path) -> list[str]:
    """The frames of an exception that lie in the artifact at ``path``, innermost last.

    Each is ``module.py:12 in Class.method: source line``, the file relative to the artifact.
    """
    return [
        f"{_relative(frame.filename, path)}:{frame.lineno} in {frame.name}: {frame.line or ''}"
        for frame in _frames(error, path)[-_SHOWN_FRAMES:]
    ]


def summary(error: BaseException, path: Path) -> str:
    """``module.py:12: ValueError: text``, the place being the innermost in the artifact."""
    if isinstance(error, SyntaxError) and error.filename and _inside(error.filename, path):
        return (
            f"{_relative(error.filename, path)}:{error.lineno}: {type(error).__name__}: {error.msg}"
        )
    what = "".join(traceback.format_exception_only(error)).strip()
    frames = _frames(error, path)
    if not frames:
        return what
    innermost = frames[-1]
    scope = "" if innermost.name == "<module>" else f" in {innermost.name}"
    return f"{_relative(innermost.filename, path)}:{innermost.lineno}{scope}: {what}"


def _frames(error: BaseException, path: Path) -> list[traceback.FrameSummary]:
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if _inside(frame.filename, path)]


def _inside(filename: str, path: Path) -> bool:
    return Path(filename).is_relative_to(path)


def _relative(filename: str, path: Path) -> str:
    inner = Path(filename).relative_to(path)
    return path.name if inner == Path() else inner.as_posix()
