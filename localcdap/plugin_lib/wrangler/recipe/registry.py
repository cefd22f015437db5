"""The known directives: the shipped ones, and the user-defined ones that a recipe loads."""

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
    """The description of a directive's argument for front ends."""

    name: str
    kind: str
    description: str
    required: bool
    choices: list[str] = []
    label: str | None = None
    """The argument in usages, where it is not that of its kind."""


class DirectiveInfo(msgspec.Struct):
    """The description of a directive for front ends."""

    directive: str
    usage: str
    description: str
    categories: list[str]
    arguments: list[ArgumentInfo]
    examples: list[str] = []
    scope: str = "SYSTEM"
    """``USER`` for a user-defined one."""


class DirectiveRegistry:
    """Directive classes by name."""

    def __init__(self, known: Mapping[str, type[Directive]]) -> None:
        self._known = dict(known)
        self._arguments = {name: cls.arguments for name, cls in self._known.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str) -> type[Directive]:
        return self._known[name]

    @property
    def names(self) -> list[str]:
        """The names in alphabetical order."""
        return sorted(self._known)

    @property
    def arguments(self) -> Mapping[str, Sequence[Argument]]:
        """The declared arguments by directive, for the parser."""
        return self._arguments

    def with_loaded(self, loaded: Iterable[type[Directive]]) -> DirectiveRegistry:
        """Return this registry with user-defined directives; a shipped directive has precedence over them."""
        extra = {cls.directive_name(): cls for cls in loaded}
        return DirectiveRegistry(extra | self._known) if extra else self

    def describe(self, loaded: Iterable[type[Directive]] = ()) -> list[DirectiveInfo]:
        """Describe all directives, by name.

        :param loaded: user-defined directives besides, but for those with the name of a known one.
        """
        own = {cls.directive_name(): describe_directive(cls, "USER") for cls in loaded}
        known = {name: describe_directive(cls) for name, cls in self._known.items()}
        return [each for _, each in sorted((own | known).items())]


def describe_directive(cls: type[Directive], scope: str = "SYSTEM") -> DirectiveInfo:
    """Describe a directive for front ends."""
    return DirectiveInfo(
        directive=cls.directive_name(),
        usage=cls.usage(),
        description=vars(cls)[PLUGIN_MARK][2],
        categories=list(cls.categories),
        arguments=[
            ArgumentInfo(
                a.name, a.kind.value, a.description, not a.is_optional, list(a.choices), a.label
            )
            for a in cls.arguments
        ],
        examples=list(cls.examples),
        scope=scope,
    )


@lru_cache(maxsize=1)
def load_shipped_directives() -> DirectiveRegistry:
    """Return the directives of :mod:`localcdap.plugin_lib.wrangler.directives`.

    :raises TypeError: if two directives have the same name.
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
    return DirectiveRegistry(found)
