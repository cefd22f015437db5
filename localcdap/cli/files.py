"""The pipelines that a command line names: files, and deployed pipelines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import DocumentError, NotFoundError
from localcdap.text import nearest_name

if TYPE_CHECKING:
    from localcdap.host import Cdap
    from localcdap.pipeline.document.model import PipelineDocument
    from localcdap.pipeline.library.application_model import Application


class NamedPipeline:
    """A pipeline that the command line names: a file, which is read at once, or a deployed pipeline.

    :param text: the path of a file, ``-`` for standard input, ``NAME`` or ``NAME@VERSION``. A path that
        exists wins.
    :raises DocumentError: when the file cannot be read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.file: Final = text if is_file(text) else None
        """The file, for error messages; None for a deployed pipeline."""
        self.name: Final = split_version(text)[0] if self.file is None else Path(text).stem
        """The name of the pipeline if its document has none."""
        self._document = None if self.file is None else read_text(text)

    def get_document(self, cdap: Cdap, namespace: str) -> str:
        """Return the JSON text of the pipeline.

        :raises NotFoundError: when there is no such deployed pipeline.
        """
        if self._document is not None:
            return self._document
        return get_deployed(cdap, namespace, self._text)[1]


def split_version(name: str) -> tuple[str, str | None]:
    """Return the name and the version of ``NAME@VERSION``; None is the latest version."""
    application, _, version = name.partition("@")
    return application, version or None


def get_deployed(cdap: Cdap, namespace: str, text: str) -> tuple[Application, str]:
    """Return the deployed pipeline ``NAME`` or ``NAME@VERSION`` and the JSON text of its document.

    :raises NotFoundError: when there is none; the message lists the deployed pipelines.
    """
    name, version = split_version(text)
    try:
        application = cdap.applications.describe(namespace, name, version)
    except NotFoundError as error:
        advice = _suggest_file(Path(text)) or error.corrective_action
        raise NotFoundError(f"There is no file '{text}'. {error.message}", advice) from None
    return application, cdap.applications.export(namespace, name, application.version)


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
    from localcdap.pipeline.document.reader import read_document

    return read_document(read_text(name), name)


def read_json(name: str) -> Any:
    """Return the decoded JSON of a file; ``-`` is standard input.

    :raises DocumentError: when the file cannot be read or is not valid JSON; with line and column.
    """
    from localcdap.pipeline.document.values import decode_json

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
