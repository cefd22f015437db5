"""The types of namespaces, and the rules for their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError
from localcdap.store.store import Transaction
from localcdap.text import format_available

DEFAULT: Final = "default"
SYSTEM: Final = "system"
RESERVED: Final = (DEFAULT, SYSTEM, "cdap")
"""Names that cannot be created or deleted (CDAP 6 ``NamespaceHttpHandler``)."""
_NAME: Final = re.compile(r"[a-zA-Z0-9_]+")
_MOST_LETTERS: Final = 200
"""A folder of the namespace's name must be possible."""


class Namespace(msgspec.Struct):
    """A namespace (CDAP 6 ``NamespaceMeta``)."""

    name: str
    description: str
    config: dict[str, str]
    generation: int
    """The time of its creation in milliseconds since 1970; 0 for the predefined namespaces. Rows with an
    earlier generation belong to a deleted namespace of the same name."""


class NamespaceCreation(msgspec.Struct):
    """The result of creating a namespace."""

    namespace: Namespace
    created: bool
    """False when the namespace existed already and was not changed."""


class NamespaceDeletion(msgspec.Struct):
    """The result of deleting a namespace."""

    name: str
    generation: int
    kept: list[str]
    """The absolute paths to which the user's own files were moved."""


def check_namespace_name(name: str, known: Iterable[str]) -> None:
    """Check that a namespace of that name can be created.

    :param known: the names of existing namespaces.
    :raises BadRequestError: when the name is malformed or reserved (with the texts of CDAP 6).
    :raises ConflictError: when another name differs in case only, because folders and SQL ignore case.
    """
    if not _NAME.fullmatch(name):
        raise BadRequestError(
            "Namespace id can contain only alphanumeric characters or '_'.",
            f"Choose another name than '{name}'.",
        )
    if len(name) > _MOST_LETTERS:
        raise BadRequestError(
            f"The name of a namespace can have at most {_MOST_LETTERS} letters, not {len(name)}."
        )
    if name in RESERVED:
        raise BadRequestError(
            f"Cannot create the namespace '{name}'. '{name}' is a reserved namespace.",
            "Choose another name.",
        )
    for other in known:
        if other != name and other.lower() == name.lower():
            raise ConflictError(
                f"Namespace '{name}' differs from '{other}' in case only.", "Choose another name."
            )


def make_missing_error(name: str, known: Iterable[str]) -> NotFoundError:
    """Return the error for a namespace that does not exist.

    :param known: the names of existing namespaces.
    """
    return NotFoundError(
        f"Namespace '{name}' does not exist; available: {format_available(name, known)}.",
        f"Create it: localcdap namespaces create {name}" if _NAME.fullmatch(name) else None,
        entity=f"namespace:{name}",
    )


def _list_no_blockers(_tx: Transaction, _namespace: str) -> Sequence[str]:
    return ()


def _release_nothing(_namespace: str) -> None: ...


def _remove_no_files(_namespace: str, _generation: int) -> Sequence[str]:
    return ()


def _remove_no_rows(_tx: Transaction, _namespace: str) -> None: ...


class NamespaceResource(msgspec.Struct, frozen=True):
    """One kind of resource in namespaces, and how a deletion removes it.

    The deletion takes the steps in the order of the fields, each step for all resources before the next.
    """

    what: str
    """A plural noun for messages, such as ``runs``."""
    blockers: Callable[[Transaction, str], Sequence[str]] = _list_no_blockers
    """List what is in use, such as active runs; it prevents the deletion unless it is forced."""
    release: Callable[[str], None] = _release_nothing
    """End what is in use, and wait until it has ended."""
    remove_files: Callable[[str, int], Sequence[str]] = _remove_no_files
    """Remove what is outside the database. The namespace (with its generation) is marked as deleted by then.
    Returns the new paths of the user's own files. It is called again after a crash and must be idempotent."""
    remove: Callable[[Transaction, str], None] = _remove_no_rows
    """Remove what is in the database, in the transaction that deletes the namespace."""
