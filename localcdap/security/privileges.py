"""Privileges: the permissions of users on entities, as the settings hold them.

The key of a privilege is the path of an entity, in the words of the REST API of CDAP: ``namespaces/sales``,
``namespaces/sales/apps/Orders``, ``namespaces/sales/datasets/orders`` or
``namespaces/sales/artifacts/hasher/versions/1.0.0``. The path ``*`` stands for every entity.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from localcdap.api.entity_paths import join_path, split_path
from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import (
    APPLICATION,
    ARTIFACT,
    DATASET,
    NAMESPACE,
    VERSION,
    MetadataEntity,
)
from localcdap.api.security import Permission

EVERYTHING: Final = "*"
"""The path that stands for every entity."""
_SEQUENCES: Final = (
    (NAMESPACE,),
    (NAMESPACE, APPLICATION),
    (NAMESPACE, DATASET),
    (NAMESPACE, ARTIFACT),
    (NAMESPACE, ARTIFACT, VERSION),
)
_HOW: Final = (
    "Expected '*', namespaces/NAME, or one of namespaces/NAME/apps/NAME, …/datasets/NAME, "
    "…/artifacts/NAME and …/artifacts/NAME/versions/VERSION"
)

EntityKeys = tuple[tuple[str, str], ...]
"""The pairs of key and value of an entity; none stands for every entity."""
UserPrivileges = dict[str, list[Permission]]
"""The permissions of one user by the path of the entity."""


class Privileges(msgspec.Struct, frozen=True):
    """The privileges of all users."""

    enabled: bool = False
    """Whether privileges are checked at all."""
    users: Mapping[str, Mapping[EntityKeys, frozenset[Permission]]] = {}

    @classmethod
    def of(cls, enabled: bool, users: Mapping[str, UserPrivileges]) -> Privileges:
        """Return the privileges of valid settings."""
        return cls(
            enabled,
            {
                user: {parse_path(path): frozenset(each) for path, each in paths.items()}
                for user, paths in users.items()
            },
        )

    def find_missing(
        self, user: str, entity: MetadataEntity, permissions: Collection[Permission]
    ) -> list[Permission]:
        """Return which of some permissions a user lacks. A privilege covers what is inside its entity."""
        keys = tuple(entity.details.items())
        mine = self.users.get(user, {})
        held: set[Permission] = set()
        for length in range(len(keys) + 1):
            held |= mine.get(keys[:length], frozenset())
        return [each for each in Permission if each in permissions and each not in held]

    def is_visible(self, user: str, entity: MetadataEntity) -> bool:
        """Return whether a user has any permission on an entity, or on one inside or around it."""
        keys = tuple(entity.details.items())
        return any(
            granted and all(mine == theirs for mine, theirs in zip(keys, of, strict=False))
            for of, granted in self.users.get(user, {}).items()
        )

    def list_seen(self, user: str) -> frozenset[EntityKeys] | None:
        """Return the entities on which a user has any permission; None when it is every entity."""
        seen = frozenset(of for of, granted in self.users.get(user, {}).items() if granted)
        return None if () in seen else seen


def parse_path(path: str) -> EntityKeys:
    """Return the keys of the entity that a path of the settings names.

    :raises ValueError: when the path names none that privileges exist for.
    """
    if path == EVERYTHING:
        return ()
    try:
        pairs = split_path(path)
    except BadRequestError:
        pairs = {}
    # A singular word is the key of a custom entity elsewhere; no privileges exist for these.
    if tuple(pairs) not in _SEQUENCES or join_path(pairs).lower() != path.strip("/").lower():
        raise ValueError(f"{_HOW}, got '{path}'")
    return tuple(pairs.items())


def format_path(entity: MetadataEntity) -> str:
    """Return the path of an entity, or of the application around it, as the settings name it."""
    keys = tuple(entity.details)
    length = max((len(each) for each in _SEQUENCES if keys[: len(each)] == each), default=0)
    return join_path(dict(list(entity.details.items())[:length])) or EVERYTHING


def read_user_privileges(entry: object, problems: list[tuple[str, str]]) -> UserPrivileges:
    """Return the valid privileges of one user in the settings, and add the problems of the others.

    :param entry: the table of the user: a permission, or a list of them, by path.
    :param problems: gets pairs of a key, which begins with a dot, and what is wrong with it.
    """
    if not isinstance(entry, dict):
        problems.append(("", 'Expected a table with lines such as "namespaces/default" = ["READ"]'))
        return {}
    found: UserPrivileges = {}
    for path, given in entry.items():
        try:
            parse_path(path)
            found[path] = list(_read_permissions(given))
        except ValueError as error:
            problems.append((f".{path}", str(error)))
    return found


def _read_permissions(given: Any) -> Iterator[Permission]:
    """Yield the permissions of a text or a list of texts.

    :raises ValueError: for anything else.
    """
    for each in [given] if isinstance(given, str) else given if isinstance(given, list) else [None]:
        if not isinstance(each, str) or each.upper() not in Permission.__members__:
            raise ValueError(f"Expected a list of {', '.join(Permission)}, got {given!r}")
        yield Permission[each.upper()]
