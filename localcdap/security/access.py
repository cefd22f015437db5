"""What the methods of services require of their callers, and the check of each call.

A method states what it requires with :func:`requires`, :func:`shows_visible` or :func:`open_to_all`; without
a statement only localcdap itself may call it. The check takes place where a call enters the host,
from another process or from the program that hosts the instance. Calls between services of the host are not
checked again: a user who may run a pipeline needs no privilege on what the host reads for that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from localcdap.api.errors import UnauthorizedError
from localcdap.api.metadata import MetadataEntity
from localcdap.api.security import SYSTEM_PRINCIPAL, Authorizer, Permission, Principal
from localcdap.security.principals import act_as, current_principal

_Method = TypeVar("_Method", bound=Callable[..., Any])
_S = TypeVar("_S")
_RULES: Final = "__access_rules__"
_SHOWN: Final = "__shown_entity__"
_OPEN: Final = "__open_because__"
_SYSTEM: Final = "system"


class Target(msgspec.Struct, frozen=True):
    """The entities that a call concerns."""

    text: str
    """What they are, for the list of all checks, such as ``dataset {namespace}/{name}``."""
    find: Callable[[Any, Mapping[str, Any]], Iterable[MetadataEntity]]
    """Returns them for a service and the arguments of a call, with defaults, by name."""


class AccessRule(msgspec.Struct, frozen=True):
    """The permissions that a caller needs on the entities of a call."""

    target: Target
    permissions: tuple[Permission, ...]
    """None: any permission on the entity, or on one inside or around it."""

    def __str__(self) -> str:
        return f"{' '.join(self.permissions) or 'any'} on {self.target.text}"


class SwitchedAuthorizer(Authorizer, Protocol):
    """An authorizer that may be switched off."""

    @property
    def is_enabled(self) -> bool:
        """Whether anything is checked."""

    def describe_view(self, principal: Principal) -> Hashable | None:
        """Return a value that is equal for principals who see the same entities; None: they see all."""


def requires(target: Target, *permissions: Permission) -> Callable[[_Method], _Method]:
    """State what a caller of a method needs; several statements are all checked.

    :param permissions: all of them; none given: any permission.
    """

    def state(method: _Method) -> _Method:
        rules = (AccessRule(target, permissions), *getattr(method, _RULES, ()))
        setattr(method, _RULES, rules)
        return method

    return state


def open_to_all(why: str) -> Callable[[_Method], _Method]:
    """State that everybody may call a method, and why."""

    def state(method: _Method) -> _Method:
        setattr(method, _OPEN, why)
        return method

    return state


def shows_visible(entity: Callable[[Any], MetadataEntity]) -> Callable[[_Method], _Method]:
    """State that a method returns a list of which a caller gets only what is visible to them.

    :param entity: returns the entity of a member of the list.
    """

    def state(method: _Method) -> _Method:
        setattr(method, _SHOWN, entity)
        return method

    return state


def describe_access(service: type, method: str) -> str | None:
    """Return who may call a method, in words; None for a method that only localcdap itself calls."""
    function = inspect.getattr_static(service, method)
    parts = [str(rule) for rule in getattr(function, _RULES, ())]
    if hasattr(function, _SHOWN):
        parts.append("shows what is visible")
    if hasattr(function, _OPEN):
        parts.append(f"open: {getattr(function, _OPEN)}")
    return "; ".join(parts) or None


# -- targets --------------------------------------------------------------------------------


def of_namespace(path: str = "namespace") -> Target:
    """Return the target of a namespace.

    :param path: the argument with its name, or with dots an attribute of an argument.
    """
    return Target(
        f"namespace {{{path}}}", lambda _, given: [MetadataEntity.of_namespace(_get(given, path))]
    )


def of_application(namespace: str = "namespace", name: str = "name") -> Target:
    """Return the target of an application; both parameters as of :func:`of_namespace`."""
    return Target(
        f"application {{{namespace}}}/{{{name}}}",
        lambda _, given: [MetadataEntity.of_application(_get(given, name), _get(given, namespace))],
    )


def of_dataset(namespace: str = "namespace", name: str = "name") -> Target:
    """Return the target of a dataset; both parameters as of :func:`of_namespace`."""
    return Target(
        f"dataset {{{namespace}}}/{{{name}}}",
        lambda _, given: [MetadataEntity.of_dataset(_get(given, name), _get(given, namespace))],
    )


OF_INSTANCE: Final = Target("namespace system", lambda *_: [MetadataEntity.of_namespace(_SYSTEM)])
"""What concerns the whole instance: the namespace ``system`` stands for it."""


def _get(arguments: Mapping[str, Any], path: str) -> Any:
    name, *attributes = path.split(".")
    value = arguments[name]
    for each in attributes:
        value = getattr(value, each)
    return value


# -- checks ---------------------------------------------------------------------------------


class AccessChecks:
    """Performs the calls of front ends and runs, after it has checked them."""

    def __init__(self, authorizer: SwitchedAuthorizer) -> None:
        self._authorizer = authorizer

    @property
    def are_enabled(self) -> bool:
        """Whether calls are checked."""
        return self._authorizer.is_enabled

    def perform(self, service: object, method: str, arguments: dict[str, Any]) -> Any:
        """Call a method of a service for the current principal.

        :param arguments: by name; those with defaults may be missing.
        :raises UnauthorizedError: when the principal lacks a permission; then nothing was called.
        """
        principal = current_principal()
        if principal.is_system or not self._authorizer.is_enabled:
            return getattr(service, method)(**arguments)
        function = inspect.getattr_static(type(service), method)
        rules: Sequence[AccessRule] = getattr(function, _RULES, ())
        if not rules and not hasattr(function, _OPEN) and not hasattr(function, _SHOWN):
            raise UnauthorizedError(
                f"Only localcdap itself calls {type(service).__name__}.{method}."
            )
        if rules:
            given = _get_defaults(function) | arguments
            for rule in rules:
                for entity in rule.target.find(service, given):
                    self._authorizer.enforce(principal, entity, rule.permissions)
        found = getattr(service, method)(**arguments)
        entity_of = getattr(function, _SHOWN, None)
        if entity_of is not None:
            found = [e for e in found if self._authorizer.is_visible(principal, entity_of(e))]
        return found

    def guard(self, service: _S) -> _S:
        """Return an object with the methods of a service, which checks each call."""
        return cast(_S, _GuardedService(service, self))


def perform_as_system(service: object, method: str, arguments: dict[str, Any]) -> Any:
    """Call a method of a service for a system application, which acts as localcdap itself."""
    with act_as(SYSTEM_PRINCIPAL):
        return getattr(service, method)(**arguments)


class _GuardedService:
    """The service of a program that hosts the instance; see :meth:`AccessChecks.guard`."""

    def __init__(self, service: object, checks: AccessChecks) -> None:
        self._service = service
        self._checks = checks

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._service, name)
        if name.startswith("_") or not inspect.ismethod(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            given = inspect.signature(found).bind(*args, **kwargs).arguments
            return self._checks.perform(self._service, name, dict(given))

        return call


@lru_cache(maxsize=1024)
def _get_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in parameters if each.default is not each.empty}
