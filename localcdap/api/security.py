"""Who acts, and what they may do: principals, permissions and the protocol that enforces them."""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Protocol

import msgspec

from localcdap.api.metadata import MetadataEntity


class PrincipalType(enum.StrEnum):
    """The kinds of principals."""

    USER = "USER"
    SYSTEM = "SYSTEM"
    """localcdap itself, and its system applications; it may do everything."""


class Principal(msgspec.Struct, frozen=True):
    """Who acts: a user of the operating system, or localcdap itself."""

    name: str
    type: PrincipalType = PrincipalType.USER

    @property
    def is_system(self) -> bool:
        """Whether localcdap itself acts."""
        return self.type is PrincipalType.SYSTEM


SYSTEM_PRINCIPAL = Principal("system", PrincipalType.SYSTEM)
"""localcdap itself, and its system applications."""


class Permission(enum.StrEnum):
    """What a principal may do with an entity (CDAP 5 ``Action``)."""

    READ = "READ"
    WRITE = "WRITE"
    EXECUTE = "EXECUTE"
    ADMIN = "ADMIN"


class Authorizer(Protocol):
    """Decides what principals may do."""

    def enforce(
        self, principal: Principal, entity: MetadataEntity, permissions: Collection[Permission]
    ) -> None:
        """Check that a principal has all permissions on an entity. Custom entities are not checked.

        :raises UnauthorizedError: when one is missing; the message names principal, entity and permissions.
        """

    def is_visible(self, principal: Principal, entity: MetadataEntity) -> bool:
        """Return whether a principal has any permission on an entity, or on one inside or around it."""
