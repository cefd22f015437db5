"""The directives that there are: the shipped ones, and those that a recipe loads."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from localcdap.api.directive import Directive
from localcdap.api.directive.argument import Argument
from localcdap.api.plugin import PLUGIN_MARK
from localcdap.plugin_lib.wrangler import directives


class ArgumentInfo(msgspec.Struct):
    """An argument of a directive, as front ends see it."""

    name: str
    kind: str
    description: str
    required: bool
    choices: list[str] = []


class DirectiveInfo(msgspec.Struct):
    """A directive as front ends see it."""

    directive: str
    usage: str
    description: str
    categories: list[str]
    arguments: list[ArgumentInfo]
    examples: list[str] = []
    scope: str = "SYSTEM"
    """``USER`` for a user-defined one."""


class Registry:
    """Directives by name."""

    def __init__(self, known: Mapping[str, type[Directive]]) -> None:
        self._known = dict(known)
        self._arguments = {name: cls.arguments for name, cls in self._known.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str) -> type[Directive]:
        return self._known[name]

    def names(self) -> list[str]:
        return sorted(self._known)

    def arguments(self) -> Mapping[str, Sequence[Argument]]:
        """What :func:`localcdap.plugin_lib.wrangler.language.parse` wants."""
        return self._arguments

    def with_loaded(self, loaded: Iterable[type[Directive]]) -> Registry:
        """This registry with user-defined directives; they never hide shipped ones."""
        extra = {cls.directive_name(): cls for cls in loaded}
        return Registry(extra | self._known) if extra else self

    def describe(self) -> list[DirectiveInfo]:
        """All of them, by name."""
        return [describe(self._known[name]) for name in self.names()]


def describe(cls: type[Directive], scope: str = "SYSTEM") -> DirectiveInfo:
    """A directive as front ends see it."""
    return DirectiveInfo(
        directive=cls.directive_name(),
        usage=cls.usage(),
        description=vars(cls)[PLUGIN_MARK][2],
        categories=list(cls.categories),
        arguments=[
            ArgumentInfo(a.name, a.kind.value, a.description, not a.is_optional, list(a.choices))
            for a in cls.arguments
        ],
        examples=list(cls.examples),
        scope=scope,
    )


@lru_cache(maxsize=1)
def shipped() -> Registry:
    """The directives of :mod:`localcdap.plugin_lib.wrangler.directives`.

    :raises TypeError: when two have one name.
    """
    found: dict[str, type[Directive]] = {}
    for module in pkgutil.iter_modules(directives.__path__):
        if module.ispkg:
            continue
        name = f"{directives.__name__}.{module.name}"
        for cls in vars(importlib.import_module(name)).values():
            if not inspect.isclass(cls) or not issubclass(cls, Directive):
                continue
            if cls.__module__ != name or PLUGIN_MARK not in vars(cls):
                continue
            other = found.setdefault(cls.directive_name(), cls)
            if other is not cls:
                raise TypeError(f"{cls} and {other} are both '{cls.directive_name()}'.")
    return Registry(found)
