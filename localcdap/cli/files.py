"""Pipeline files named on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from localcdap.api.errors import DocumentError
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.document.source import decode_json
from localcdap.text import nearest_name


def read_text(name: str) -> str:
    """Return the text of a file; ``-`` is standard input. The host parses it and reports where it is wrong.

    :raises DocumentError: when the file cannot be read, or is not UTF-8.
    """
    if name == "-":
        return sys.stdin.read()
    path = Path(name)
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DocumentError(
            f"{name}: there is no such file.", _suggest_file(path), file=name
        ) from None
    except IsADirectoryError:
        raise DocumentError(f"{name} is a directory; name a pipeline file.", file=name) from None
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{name} is not UTF-8 text: {error.reason} at byte {error.start}.",
            "A pipeline file is the JSON that CDAP or Data Fusion exports.",
            file=name,
        ) from None
    except OSError as error:
        raise DocumentError(f"{name} cannot be read: {error.strerror}.", file=name) from None


def read_pipeline(name: str) -> PipelineDocument:
    """Return the pipeline in a file; ``-`` is standard input.

    :raises DocumentError: when the file cannot be read or holds no pipeline; with line and column.
    """
    return read_document(read_text(name), name)


def read_json(name: str) -> Any:
    """Return the decoded JSON of a file; ``-`` is standard input.

    :raises DocumentError: when the file cannot be read or is not valid JSON; with line and column.
    """
    return decode_json(read_text(name), name)


def is_file(name: str) -> bool:
    """Return whether an argument of the command line names a file, not a deployed pipeline."""
    return name == "-" or "/" in name or name.endswith(".json") or Path(name).exists()


def _suggest_file(path: Path) -> str | None:
    """Return a hint at the file that the user probably meant."""
    try:
        candidates = [str(path.parent / entry.name) for entry in path.parent.glob("*.json")]
    except OSError:
        return None
    nearest = nearest_name(str(path), candidates)
    return f"Did you mean {nearest}?" if nearest else None
