"""Noticing that user code has replaced a function, a class or a constant of a module that it shares."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

_PACKAGE: Final = "localcdap"
_MADE_BY_PYTHON: Final = ("__annotations__", "__builtins__", "__doc__")
"""Names that Python itself sets or replaces after a module or a class was made."""
_WATCHED: Final = frozenset((_PACKAGE, "json"))
"""The packages whose modules and classes count, 3,200 names. Those of all modules of a worker would take 1 ms
more for each call, and 10 ms more for the first one of each worker, which copies every page of memory
with an object that it looks at.
"""
_WATCHED_MODULES: Final = frozenset(("importlib", "os", "re"))
"""Modules of other packages that count, without their classes."""


class _Holder(NamedTuple):
    """A module, a class, or a constant that is a dict: names with values."""

    name: str
    namespace: Mapping[Any, Any]
    is_ours: bool
    """Whether it belongs to localcdap, of which every value must stay; of other modules only functions
    and classes must.
    """


class ModuleFingerprint:
    """What modules held when this object was made: functions, classes and, of localcdap, everything.

    Comparing them takes 0.15 ms, so that it can be repeated after each call of a plugin. It finds
    mistakes, not malice: user code in the same process can deceive it. Other artifacts are safe from both,
    because they run in other processes.
    """

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._modules = modules
        self._seen: set[str] = set()
        self._holders: list[tuple[_Holder, dict[Any, Any]]] = []
        self._functions: list[FunctionType] = []
        self._codes: list[CodeType] = []
        self._add_modules()

    def find_change(self) -> str | None:
        """Return the name of something that was replaced, removed or hidden; None when nothing was.

        A module that was imported since the last time is taken as it is.
        """
        for place, (holder, before) in enumerate(self._holders):
            if holder.namespace != before:
                changed = _find_changed_name(holder, before)
                if changed is not None:
                    return f"{holder.name}.{changed}"
                # Such as a module that was imported since, or a cache of the standard library.
                self._holders[place] = (holder, dict(holder.namespace))
        if [function.__code__ for function in self._functions] != self._codes:
            pairs = zip(self._functions, self._codes, strict=True)
            changed_function = next(each for each, code in pairs if each.__code__ is not code)
            return f"{changed_function.__module__}.{changed_function.__qualname__}"
        if len(self._modules) != len(self._seen):
            self._add_modules()
        return None

    def _add_modules(self) -> None:
        modules = dict(self._modules)
        for name in modules.keys() - self._seen:
            if name.partition(".")[0] not in _WATCHED and name not in _WATCHED_MODULES:
                continue
            for holder in _list_holders(name, modules[name]):
                self._holders.append((holder, dict(holder.namespace)))
                if holder.is_ours:
                    functions = list(_list_functions(holder.namespace))
                    self._functions += functions
                    self._codes += [function.__code__ for function in functions]
        self._seen = set(modules)


def _list_holders(name: str, module: ModuleType) -> Iterator[_Holder]:
    namespace = vars(module)
    is_ours = name.partition(".")[0] == _PACKAGE
    yield _Holder(name, namespace, is_ours)
    if name in _WATCHED_MODULES:
        return
    for key, value in list(namespace.items()):
        if isinstance(value, type) and value.__module__ == name:
            yield _Holder(f"{name}.{value.__qualname__}", vars(value), is_ours)
        elif is_ours and isinstance(value, dict) and key.isupper():
            yield _Holder(f"{name}.{key}", value, is_ours)


def _list_functions(namespace: Mapping[Any, Any]) -> Iterator[FunctionType]:
    for value in namespace.values():
        function = getattr(value, "__func__", value)  # of a class method or a static method
        if isinstance(function, property):
            function = function.fget
        if isinstance(function, FunctionType):
            yield function


def _find_changed_name(holder: _Holder, before: Mapping[Any, Any]) -> str | None:
    now = holder.namespace
    for name, value in before.items():
        if name in _MADE_BY_PYTHON or not (holder.is_ours or _is_code(value)):
            continue
        if name not in now or now[name] is not value:
            return str(name)
    for name in now.keys() - before.keys():
        # A new name in a module hides the built-in function of that name; in a class, what it inherits.
        hides = hasattr(builtins, str(name)) or isinstance(holder.namespace, type(vars(type)))
        if holder.is_ours and hides and name not in _MADE_BY_PYTHON and _is_code(now[name]):
            return str(name)
    return None


def _is_code(value: object) -> bool:
    return isinstance(
        value, FunctionType | BuiltinFunctionType | type | classmethod | staticmethod | property
    )
