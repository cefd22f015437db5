"""The input files of a path: folders, wildcards, name patterns (Hadoop ``FileInputFormat``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from localcdap.api import ActionContext, SourceContext

_WILDCARDS: Final = re.compile(r"[*?\[{]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class FilesNotFoundError(Exception):
    """A path has no input files. The message names the path; ``action`` says what to do."""

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.action = action


def is_remote(path: str) -> bool:
    """Return whether a resolved path is on a file system that only Spark can reach."""
    return _SCHEME.match(path) is not None


def find_input_files(
    path: str,
    *,
    recursive: bool = False,
    file_regex: str | None = None,
    document_path: str | None = None,
) -> list[str]:
    """Return the input files of a path, sorted.

    Names that start with ``_`` or ``.`` are skipped. A folder stands for the files in it, with ``recursive``
    also for the files in its subfolders.

    :param path: an absolute local path; ``*``, ``?``, ``[a-z]`` and ``{a,b}`` match within one name.
    :param file_regex: keep files whose full path matches. The regex is tried on the local path, on the path
        with the prefix ``file:``, and on the path in the form of ``document_path``.
    :param document_path: the path in the pipeline document, if it was resolved to ``path``.
    :raises FilesNotFoundError: when there are no input files.
    """
    roots = list(_expand_pattern(path))
    if not roots:
        reason = "matches no file" if _WILDCARDS.search(path) else "does not exist"
        shown, action = f"'{path}'", "Check the 'path' property."
        if document_path is not None and document_path.strip() != path:
            shown = f"'{document_path.strip()}', which is '{path}' here,"
            action = "Check the 'path' property, and [locations] in localcdap.toml."
        raise FilesNotFoundError(f"Input path {shown} {reason}.", action)
    files = [file for root in roots for file in _list_files(root, recursive)]
    return filter_files(
        files, path, recursive=recursive, file_regex=file_regex, document_path=document_path
    )


def filter_files(
    files: Sequence[str],
    path: str,
    *,
    recursive: bool,
    file_regex: str | None,
    document_path: str | None,
) -> list[str]:
    """Return the files found for ``path`` that match ``file_regex``, sorted.

    :raises FilesNotFoundError: when no file remains.
    """
    if not files:
        hint = "" if recursive else ", or set 'recursive' to true to read folders inside it"
        raise FilesNotFoundError(
            f"Input path '{path}' holds no file to read.",
            f"Put files there whose names start with neither '_' nor '.'{hint}.",
        )
    if file_regex is None:
        return sorted(set(files))
    wanted = re.compile(file_regex)
    kept = sorted({f for f in files if _is_wanted(f, wanted, path, document_path or path)})
    if not kept:
        raise FilesNotFoundError(
            f"None of the {len(files)} files of '{path}' matches '{file_regex}', for instance not "
            f"'{files[0]}'.",
            "Change 'fileRegex' so that it matches the full path of a file, not only its name.",
        )
    return kept


def _expand_pattern(path: str) -> Iterator[str]:
    """Yield the existing paths that match a pattern; a wildcard matches within one name."""
    if os.path.lexists(path):
        yield path
        return
    if not _WILDCARDS.search(path):
        return
    # Alternatives are expanded first, because a slash inside braces does not separate names.
    for alternative in _expand_alternatives(path):
        folder_paths = ["/"]
        for name in alternative.strip("/").split("/"):
            folder_paths = [
                found
                for folder_path in folder_paths
                for found in _match_children(folder_path, name)
            ]
        yield from folder_paths


def _match_children(folder_path: str, name: str) -> Iterator[str]:
    folder = Path(folder_path)
    if not _WILDCARDS.search(name):
        child = folder / name
        if os.path.lexists(child):
            yield str(child)
        return
    wanted = re.compile(_to_name_regex(name), re.DOTALL)
    if folder.is_dir():
        for child in sorted(folder.iterdir()):
            if not _is_hidden(child.name) and wanted.fullmatch(child.name):
                yield str(child)


def _expand_alternatives(pattern: str) -> list[str]:
    """Return the patterns that ``{a,b}`` stands for; an unclosed brace is literal."""
    opening = pattern.find("{")
    closing = pattern.find("}", opening)
    if opening < 0 or closing < 0:
        return [pattern]
    opening = pattern.rfind("{", 0, closing)
    choices = pattern[opening + 1 : closing].split(",")
    expanded = [pattern[:opening] + choice + pattern[closing + 1 :] for choice in choices]
    return [result for each in expanded for result in _expand_alternatives(each)]


def _to_name_regex(pattern: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        closing = pattern.find("]", at + 2) if char == "[" else -1
        if closing > 0:
            chosen = pattern[at + 1 : closing].replace("\\", "\\\\")
            parts.append(f"[^{chosen[1:]}]" if chosen[0] in "!^" else f"[{chosen}]")
            at = closing
        else:
            parts.append({"*": ".*", "?": "."}.get(char, re.escape(char)))
        at += 1
    return "".join(parts)


def _list_files(root: str, recursive: bool) -> Iterator[str]:
    if not Path(root).is_dir():
        if not _is_hidden(Path(root).name):
            yield root
        return
    for entry in sorted(os.scandir(root), key=lambda e: e.name):
        if _is_hidden(entry.name):
            continue
        if entry.is_file():
            yield entry.path
        elif recursive and entry.is_dir():
            yield from _list_files(entry.path, recursive)


def _is_hidden(name: str) -> bool:
    return name.startswith(("_", "."))


def _is_wanted(file: str, wanted: re.Pattern[str], path: str, written: str) -> bool:
    base, written_base = get_base_folders(path, written)
    forms = [file, f"file:{file}", written_base + file.removeprefix(base)]
    return any(wanted.fullmatch(form) for form in forms)


def get_base_folders(path: str, written: str) -> tuple[str, str]:
    """Return the folder before the first wildcard of a local path, and that of its path in the document."""
    return _get_fixed_part(path), _get_fixed_part(written)


def _get_fixed_part(path: str) -> str:
    """Return the part of a path before the first name with a wildcard."""
    wildcard = _WILDCARDS.search(path)
    fixed = path[: wildcard.start()] if wildcard else path
    return fixed.rpartition("/")[0] if wildcard else fixed.rstrip("/")


_LOCAL: Final = re.compile("^file:/+")


def find_cluster_files(
    context: SourceContext,
    path: str,
    *,
    recursive: bool,
    file_regex: str | None,
    document_path: str,
) -> list[str]:
    """Return the input files of a path as :func:`find_input_files` does, listed by Hadoop on the cluster.

    Files of the cluster's own file system are absolute paths, others are URLs.

    :raises FilesNotFoundError: when there are no input files.
    """
    from pyspark.errors import AnalysisException

    reader = context.spark.read.format("binaryFile")
    if recursive:
        reader = reader.option("recursiveFileLookup", "true")
    try:
        # Spark does not read the contents when no column needs them.
        rows = reader.load(path).select("path").collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        raise FilesNotFoundError(
            f"Input path '{path}' does not exist on the cluster.", "Check the 'path' property."
        ) from None
    files = [_LOCAL.sub("/", row["path"]) for row in rows]
    return filter_files(
        files, path, recursive=recursive, file_regex=file_regex, document_path=document_path
    )


def require_file_system(context: SourceContext, files: Sequence[str]) -> None:
    """Check that Python processes can read the files, and not only Spark.

    :raises StageError: for a file on a remote file system.
    """
    other = next((file for file in files if is_remote(file)), None)
    if other is not None:
        raise context.fail(
            f"'{other}' would be read by Python, which reaches only the file systems of the workers.",
            "Copy it to a path that all workers see, or have it as JSON, Parquet, ORC, or plain lines in "
            "UTF-8, which Spark reads itself.",
        )


def resolve_local(context: ActionContext, path: str) -> Path:
    """Return the local path of a path in a pipeline document.

    :raises StageError: for a path that is not on this machine.
    """
    destination = context.resolve_path(path)
    if context.is_remote or is_remote(destination):
        raise context.fail(
            f"'{destination}' is not on this machine; actions can only access local files.",
            "Map it to a local folder under [locations] in localcdap.toml, and run the pipeline here.",
        )
    return Path(destination)
