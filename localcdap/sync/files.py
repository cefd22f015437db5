"""Reads the entities that the files of a folder hold, with all that is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from localcdap.api.errors import BadRequestError, DocumentError
from localcdap.sync.json_files import find_line, is_canonical, read_object
from localcdap.sync.kinds import EntityKind
from localcdap.sync.model import FolderFile, SyncProblem, make_address


class FileEntity(NamedTuple):
    """An entity in a file."""

    kind: EntityKind
    key: str
    document: Any
    file: FolderFile
    is_canonical: bool


class ReadFiles(NamedTuple):
    """The entities of a folder."""

    entities: dict[tuple[str, str], FileEntity]
    """By the name of the kind and the key."""
    problems: list[SyncProblem]


def read_files(
    namespace: str,
    files: Sequence[FolderFile],
    kinds: Mapping[str, EntityKind],
    pipelines: Collection[str],
) -> ReadFiles:
    """Read the entities in files.

    :param pipelines: the names of pipelines that a file at the top of the folder may hold, although it is
        broken. A file there that is neither one of them nor a pipeline is foreign.
    """
    found = ReadFiles({}, [])
    for file in files:
        kind = _find_kind(file, kinds, pipelines)
        if kind is None:
            continue
        try:
            document = read_object(file.text, file.path)
            _check_namespace(namespace, document, file)
            key, read = kind.read(namespace, document, file.path)
        except BadRequestError as error:
            found.problems.append(_to_problem(error, file))
            continue
        other = found.entities.get((kind.name, key))
        if other is not None:
            found.problems.append(_make_twice_problem(kind, key, read, other, file))
            continue
        found.entities[kind.name, key] = FileEntity(
            kind, key, read, file, is_canonical(file.text, read)
        )
        found.problems.extend(_find_secrets(namespace, kind, key, read, file))
    return found


def _find_kind(
    file: FolderFile, kinds: Mapping[str, EntityKind], pipelines: Collection[str]
) -> EntityKind | None:
    """Return the kind by the folder; CDAP's source control has pipelines at the top of its folder."""
    first, *rest = PurePosixPath(file.path).parts
    if rest:
        return kinds.get(first)
    if PurePosixPath(first).stem in pipelines:
        return kinds["pipelines"]
    try:
        document = read_object(file.text, file.path)
    except DocumentError:
        return None
    is_pipeline = "artifact" in document and ("config" in document or "configuration" in document)
    return kinds["pipelines"] if is_pipeline else None


def _check_namespace(namespace: str, document: Mapping[str, Any], file: FolderFile) -> None:
    named = document.get("namespace")
    if named is not None and named != namespace:
        line = find_line(file.text, ["namespace"])
        raise DocumentError(
            f"File '{file.path}' is of namespace '{named}', not of '{namespace}' (line {line}).",
            "Synchronize each namespace with a folder of its own, or remove the key 'namespace'.",
            file=file.path,
            line=line,
        )


def _to_problem(error: BadRequestError, file: FolderFile) -> SyncProblem:
    message, line = error.message, getattr(error, "line", None)
    if line is None:  # msgspec names the place as `$.preferences`
        _, is_named, keys = message.rpartition("`$")
        path = [key.partition("[")[0] for key in keys.rstrip("`.").split(".")[1:]]
        line = find_line(file.text, path if is_named else [])
        start = "" if file.path in message else f"File '{file.path}': "
        message = f"{start}{message.removesuffix('.')} (line {line})."
    return SyncProblem(message, error.corrective_action, file=file.path, line=line)


def _make_twice_problem(
    kind: EntityKind, key: str, document: Any, other: FileEntity, file: FolderFile
) -> SyncProblem:
    title = kind.get_title(key, document)
    line = find_line(file.text, ["name"])
    return SyncProblem(
        f"Files '{other.file.path}' and '{file.path}' (line {line}) both are {kind.noun} '{title}'.",
        "Give one of them another name or id inside the file, or delete it.",
        make_address(kind.name, key),
        file.path,
        line,
    )


def _find_secrets(
    namespace: str, kind: EntityKind, key: str, document: Any, file: FolderFile
) -> list[SyncProblem]:
    problems = []
    for secret in kind.find_secrets(namespace, document):
        line = find_line(file.text, secret.path)
        problems.append(
            SyncProblem(
                f"File '{file.path}' has a secret in plain text (line {line}): {secret.where}.",
                "Store the value as a secure key (localcdap secrets put KEY), and write ${secure(KEY)} "
                "here. If the file was committed, change the secret: Git keeps it.",
                make_address(kind.name, key),
                file.path,
                line,
            )
        )
    return problems
