"""The authorizers: one over the privileges of the settings, and one that allows everything.

Messages are those of CDAP 6 ``UnauthorizedException``.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api.errors import LocalcdapError, UnauthorizedError
from localcdap.api.metadata import KEY_SEQUENCES, MetadataEntity
from localcdap.api.security import Permission, Principal
from localcdap.security.privileges import EntityKeys, Privileges, format_path

_LOG: Final = logging.getLogger(__name__)


class AllowAll:
    """The authorizer that allows everything, for tests and for what runs without an instance."""

    is_enabled: Final = False
    """Whether anything is checked."""

    def enforce(
        self, principal: Principal, entity: MetadataEntity, permissions: Collection[Permission]
    ) -> None:
        """Allow it."""

    def is_visible(self, principal: Principal, entity: MetadataEntity) -> bool:
        """Return True."""
        return True

    def describe_view(self, principal: Principal) -> None:
        """Return None: everybody sees everything."""


ALLOW_ALL: Final = AllowAll()
"""The default of what takes an authorizer."""


class PrivilegeAuthorizer:
    """The authorizer over privileges, which may change between two calls. Threads may share it.

    The system principal may do everything, and custom entities are not checked (CDAP 6
    ``MetadataHttpHandler``).

    :param read: returns the current privileges, quickly.
    """

    def __init__(self, read: Callable[[], Privileges]) -> None:
        self._read = read

    @property
    def is_enabled(self) -> bool:
        """Whether anything is checked."""
        return self._read().enabled

    def enforce(
        self, principal: Principal, entity: MetadataEntity, permissions: Collection[Permission]
    ) -> None:
        """Check that a principal has all permissions on an entity; with none given, at least any.

        :raises UnauthorizedError: when one is missing; the message names principal, entity and permissions.
        """
        privileges = self._read()
        if not privileges.enabled or principal.is_system or entity.type not in KEY_SEQUENCES:
            return
        if not permissions:
            if not privileges.is_visible(principal.name, entity):
                raise _make_error(principal, entity, [])
            return
        missing = privileges.find_missing(principal.name, entity, permissions)
        if missing:
            raise _make_error(principal, entity, missing)

    def is_visible(self, principal: Principal, entity: MetadataEntity) -> bool:
        """Return whether a principal has any permission on an entity, or on one inside or around it."""
        try:
            self.enforce(principal, entity, ())
        except UnauthorizedError:
            return False
        return True

    def describe_view(self, principal: Principal) -> Hashable | None:
        """Return a value that is equal for principals who see the same entities; None: they see all."""
        privileges = self._read()
        if not privileges.enabled or principal.is_system:
            return None
        return privileges.list_seen(principal.name)


class PrivilegeFile:
    """The privileges in the settings file, which are read again when the file has changed.

    A file that is wrong, or cannot be read, changes nothing: the last good privileges stay. Threads may
    share it.

    :param file: the settings file; it need not exist.
    :param load: reads the privileges from it.
    :raises SettingsError: when they are wrong from the start.
    """

    def __init__(self, file: Path, load: Callable[[], Privileges]) -> None:
        self._file = os.fspath(file)
        self._load = load
        self._lock = threading.Lock()
        self._state = self._read_state()
        self._privileges = load()
        self.problem: LocalcdapError | None = None
        """Why the current file is not in effect; None when it is."""

    def read(self) -> Privileges:
        """Return the privileges in effect. It costs one look at the file's time and size."""
        if self._read_state() != self._state:
            with self._lock:
                self._refresh()
        return self._privileges

    def _refresh(self) -> None:
        state = self._read_state()
        if state == self._state:
            return
        try:
            self._privileges, self.problem = self._load(), None
        except LocalcdapError as error:
            self.problem = error
            _LOG.warning("The last good privileges stay in effect. %s", error.full_message)
        self._state = state

    def _read_state(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._file)  # noqa: PTH116 - half the time of Path.stat, at every call
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _make_error(
    principal: Principal, entity: MetadataEntity, missing: Collection[Permission]
) -> UnauthorizedError:
    what = "access"
    if len(missing) == 1:
        what = f"perform action '{', '.join(missing)}' on"
    elif missing:
        what = f"perform actions '[{', '.join(missing)}]' on"
    name = f"{entity.type}:{'.'.join(entity.details.values())}"
    user = principal.name
    key = user if re.fullmatch(r"[\w-]+", user, re.ASCII) else f'"{user}"'
    wanted = ", ".join(f'"{each}"' for each in missing or [Permission.READ])
    return UnauthorizedError(
        f"Principal '{user}' has insufficient privileges to {what} entity '{name}'.",
        f"To grant it, add to [security.privileges.{key}] in localcdap.toml: "
        f'"{format_path(entity)}" = [{wanted}]',
    )


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
