"""The permissions of owners: they may do everything with the datasets that are theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from localcdap.api.security import Permission
from localcdap.security.privileges import EntityKeys, Privileges

Owned = Mapping[EntityKeys, str]
"""The owners of entities, by the keys of the entity."""
_NOTHING: Final[Owned] = {}
_EVERYTHING: Final = frozenset(Permission)


class OwnerPrivileges:
    """The privileges of the settings together with those of owners. Threads may share it.

    :param read: returns the privileges of the settings, the same object until they change.
    """

    def __init__(self, read: Callable[[], Privileges]) -> None:
        self._read = read
        self._list_owned: Callable[[], Owned] = lambda: _NOTHING
        self._known: tuple[Privileges, Owned, Privileges] | None = None

    def use(self, list_owned: Callable[[], Owned]) -> None:
        """Set the function that returns what has an owner, the same object until that changes."""
        self._list_owned = list_owned

    def read(self) -> Privileges:
        """Return the privileges in effect."""
        found = self._read()
        if not found.enabled:
            return found
        owned, known = self._list_owned(), self._known
        if known is None or known[0] is not found or known[1] is not owned:
            known = self._known = (found, owned, _combine(found, owned))
        return known[2]


def _combine(privileges: Privileges, owned: Owned) -> Privileges:
    users = {user: dict(granted) for user, granted in privileges.users.items()}
    for entity, owner in owned.items():
        users.setdefault(owner, {})[entity] = _EVERYTHING
    return msgspec.structs.replace(privileges, users=users)
