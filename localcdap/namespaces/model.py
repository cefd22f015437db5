"""What a namespace is, and how one may be called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, ConflictError, NotFoundError

DEFAULT: Final = "default"
SYSTEM: Final = "system"
RESERVED: Final = (DEFAULT, SYSTEM, "cdap")
"""Names that nobody can create or delete (CDAP 6 ``NamespaceHttpHandler``)."""
_NAME: Final = re.compile(r"[a-zA-Z0-9_]+")
_MOST_LETTERS: Final = 200
"""A folder of that name must be possible."""


class Namespace(msgspec.Struct):
    """A namespace (CDAP 6 ``NamespaceMeta``)."""

    name: str
    description: str
    config: dict[str, str]
    generation: int
    """Milliseconds since 1970 of its creation; rows that carry an earlier one are of a namespace of this
    name that was deleted. 0 for those that always were there."""


class NamespaceCreation(msgspec.Struct):
    """The answer to the creation of a namespace."""

    namespace: Namespace
    created: bool
    """False when it was there already; nothing was changed then."""


class NamespaceDeletion(msgspec.Struct):
    """The answer to the deletion of a namespace."""

    name: str
    generation: int
    kept: list[str]
    """Where the user's own files went, absolute paths."""


def check_name(name: str, known: Iterable[str]) -> None:
    """Whether a namespace of that name can be created.

    :param known: names of the namespaces there are.
    :raises BadRequestError: when it is malformed or reserved (texts of CDAP 6).
    :raises ConflictError: when another differs in case only: folders and SQL could not tell them apart.
    """
    if not _NAME.fullmatch(name):
        raise BadRequestError(
            "Namespace id can contain only alphanumeric characters or '_'.",
            f"Choose another name than '{name}'.",
        )
    if len(name) > _MOST_LETTERS:
        raise BadRequestError(
            f"The name of a namespace can have {_MOST_LETTERS} letters at most, not {len(name)}."
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

    :param known: names of the namespaces there are.
    """
    return NotFoundError(
        f"Namespace '{name}' does not exist; there are: {', '.join(known)}.",
        f"Create it: localcdap namespaces create {name}" if _NAME.fullmatch(name) else None,
    )
