"""Pipeline files named on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from localcdap.api.errors import DocumentError
from localcdap.pipeline.document.document import read_document
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.source import decode


def read_pipeline(name: str) -> PipelineDocument:
    """The pipeline in a file; ``-`` is standard input.

    :raises DocumentError: when it cannot be read, or is no pipeline; with line and column.
    """
    return read_document(_read_text(name), name)


def read_json(name: str) -> Any:
    """The decoded JSON of a file.

    :raises DocumentError: likewise, but for being no pipeline.
    """
    return decode(_read_text(name), name)


def is_file(name: str) -> bool:
    """Whether a name on the command line means a file and no deployed pipeline."""
    return name == "-" or "/" in name or name.endswith(".json") or Path(name).exists()


def _read_text(name: str) -> str:
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


def read_arguments(pairs: tuple[str, ...], option: str = "-a") -> dict[str, str]:
    """The runtime arguments of ``-a key=value`` options; the last of one key wins."""
    arguments: dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise click.BadParameter(f"'{pair}' is not of the form key=value.", param_hint=option)
        arguments[key] = value
    return arguments


def _suggest_file(path: Path) -> str | None:
    """A hint at the file that was probably meant."""
    try:
        candidates = [str(path.parent / entry.name) for entry in path.parent.glob("*.json")]
    except OSError:
        return None
    from rapidfuzz import process

    nearest = process.extractOne(str(path), candidates, score_cutoff=60)
    return f"Did you mean {nearest[0]}?" if nearest else None
