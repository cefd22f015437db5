"""The documentation of plugins, in Markdown files of their artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LONGEST: Final = 256 * 1024
"""The most bytes of a text that are read."""


def read_documentation(artifact: Path, type: str, name: str) -> str | None:
    """Return the text of ``docs/NAME-TYPE.md`` (the layout of CDAP 6) in an artifact, or None.

    :param artifact: the artifact's content: a folder, or a single file, which has no documentation.
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
