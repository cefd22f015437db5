"""The service ``security``: whether privileges are checked, and what the caller may do."""

from __future__ import annotations

import msgspec

from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import Permission, Principal
from localcdap.security.access import open_to_all
from localcdap.security.authorizer import PrivilegeAuthorizer, PrivilegeFile
from localcdap.security.principals import current_principal


class SecurityStatus(msgspec.Struct, rename="camel"):
    """The state of privileges."""

    enabled: bool
    """Whether privileges are checked."""
    principal: Principal
    """Who asks."""
    problem: str | None = None
    """Why the current settings file is not in effect, and the last good privileges are; else None."""


class SecurityService:
    """Answers what callers may do. Threads may share it.

    :param authorizer: decides it.
    :param file: the privileges that it reads.
    """

    def __init__(self, authorizer: PrivilegeAuthorizer, file: PrivilegeFile) -> None:
        self._authorizer = authorizer
        self._file = file

    @open_to_all("callers ask about themselves")
    def describe(self) -> SecurityStatus:
        """Return whether privileges are checked, and for whom in this call."""
        enabled = self._authorizer.is_enabled
        problem = self._file.problem
        return SecurityStatus(
            enabled, current_principal(), problem.full_message if problem else None
        )

    @open_to_all("callers ask about themselves")
    def enforce(self, entity: MetadataEntity, permissions: list[Permission]) -> None:
        """Check that the caller has all permissions on an entity; with none given, at least any.

        :raises UnauthorizedError: when one is missing.
        """
        self._authorizer.enforce(current_principal(), entity, permissions)

    @open_to_all("callers ask about themselves")
    def is_visible(self, entity: MetadataEntity) -> bool:
        """Return whether the caller has any permission on an entity, or on one inside or around it."""
        return self._authorizer.is_visible(current_principal(), entity)
