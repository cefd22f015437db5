"""What artifacts say about their plugins in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LONGEST: Final = 256 * 1024
"""Bytes that are read of a text; the rest is left away."""


def read_documentation(artifact: Path, type: str, name: str) -> str | None:
    """Return the text of ``docs/NAME-TYPE.md`` in an artifact, as CDAP 6 lays it out; None where there
    is none.

    :param artifact: its content: a folder, or a file, which has none.
    """
    folder = artifact / "docs"
    file = folder / f"{name}-{type}.md"
    try:
        if not file.resolve().is_relative_to(artifact.resolve()):
            return None
        with file.open("rb") as opened:
            return opened.read(_LONGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
