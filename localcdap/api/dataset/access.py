"""AccessKind annotations: what a method of a dataset class does with the data.

::

    class Rates(Dataset):
        @read_only
        def get_rate(self, day: str) -> float: ...

The framework inserts the check at the entry of each public method and constructor; authors call nothing. A
method without an annotation counts as :func:`read_write` where a program calls it, a constructor as
:func:`no_access`. A method that another method of the dataset calls may do no more than its caller, and
without an annotation it does as much. Threads and tasks that a method starts continue its stack of calls.

The rules are those of CDAP's design of datasets; :attr:`AnnotationRules.SHIPPED` are those of CDAP 6
``DefaultDatasetRuntimeContext``.
"""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeVar

import msgspec

from localcdap.api.errors import DatasetAccessError
from localcdap.api.security import Permission

_F = TypeVar("_F", bound=Callable[..., Any])
_MARK: Final = "__dataset_access__"
_CHECKED: Final = "__dataset_access_checked__"
_CALLED_METHODS: Final = (
    "__init__",
    "__call__",
    "__contains__",
    "__delitem__",
    "__getitem__",
    "__iter__",
    "__len__",
    "__setitem__",
)
"""What a program calls without writing its name: these methods are public ones."""


class AccessKind(enum.StrEnum):
    """What a method does with the data."""

    NONE = "no access"
    READ = "read only"
    WRITE = "write only"
    READ_WRITE = "read and write"
    UNKNOWN = "unknown"
    """Of a method without an annotation, by the rules of the shipped system only."""

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """What a principal needs for it; none: any permission on the dataset."""
        return _PERMISSIONS[self]

    def includes(self, other: AccessKind) -> bool:
        """Return whether a method with this access may call one with the other."""
        return other is self or set(other.permissions) <= set(self.permissions)


_PERMISSIONS: Final = {
    AccessKind.NONE: (),
    AccessKind.READ: (Permission.READ,),
    AccessKind.WRITE: (Permission.WRITE,),
    AccessKind.READ_WRITE: (Permission.READ, Permission.WRITE),
    AccessKind.UNKNOWN: (),
}


class AnnotationRules(enum.StrEnum):
    """Which calls between methods of a dataset are allowed."""

    STRICT = "strict"
    """A method may do no more than its caller."""
    SHIPPED = "shipped"
    """Any method may call any other; lineage gets the access of the outermost one."""


def read_only(method: _F) -> _F:
    """Declare that a method or constructor only reads data."""
    return _annotate(method, AccessKind.READ)


def write_only(method: _F) -> _F:
    """Declare that a method or constructor only writes data."""
    return _annotate(method, AccessKind.WRITE)


def read_write(method: _F) -> _F:
    """Declare that a method or constructor reads and writes data."""
    return _annotate(method, AccessKind.READ_WRITE)


def no_access(method: _F) -> _F:
    """Declare that a method or constructor neither reads nor writes data."""
    return _annotate(method, AccessKind.NONE)


def _annotate(method: _F, access: AccessKind) -> _F:
    setattr(method, _MARK, access)
    return method


class AccessGuard(Protocol):
    """Checks and records the accesses to one dataset that a program has opened."""

    rules: AnnotationRules

    def check(self, access: AccessKind, recorded: AccessKind) -> None:
        """Check that the principal may do this, and record it once for each kind of access.

        :param access: what the method does: what is checked, and written to the audit log.
        :param recorded: what counts for lineage.
        :raises UnauthorizedError: when the principal lacks a permission.
        """


class _Call(msgspec.Struct, frozen=True):
    """A method that is running."""

    guard: AccessGuard
    access: AccessKind
    method: str
    caller: _Call | None


_running: ContextVar[_Call | None] = ContextVar("localcdap_dataset_call", default=None)
"""The innermost method of a dataset that runs in this thread or task."""


class enter_method:  # noqa: N801  it is used like a function
    """Run a block as a method of a dataset: check and record its access, and make it the caller of others.

    :param access: None for a method without an annotation.
    :raises DatasetAccessError: when its caller may not do that much.
    :raises UnauthorizedError: when the principal lacks a permission.
    """

    # A class, because a context manager made of a generator takes four times as long.

    __slots__ = ("_call", "_token")

    def __init__(self, guard: AccessGuard, method: str, access: AccessKind | None) -> None:
        self._call = _begin(guard, method, access)

    def __enter__(self) -> None:
        self._token = _running.set(self._call)

    def __exit__(self, *_: object) -> None:
        _running.reset(self._token)


def _begin(
    guard: AccessGuard, method: str, access: AccessKind | None, *, is_constructor: bool = False
) -> _Call:
    outer = caller = _running.get()
    while caller is not None and caller.guard is not guard:
        caller = caller.caller
    if guard.rules is AnnotationRules.SHIPPED:
        own = access or AccessKind.UNKNOWN
        known = caller is not None and caller.access is not AccessKind.UNKNOWN
        effective = caller.access if caller is not None and known else own
        guard.check(own, effective)
        return _Call(guard, effective, method, outer)
    if caller is None:
        own = access or (AccessKind.NONE if is_constructor else AccessKind.READ_WRITE)
    else:
        own = access or caller.access
        if not caller.access.includes(own):
            raise DatasetAccessError(
                f"Method '{method}' ({own}) cannot be called from '{caller.method}' ({caller.access}).",
                f"Annotate '{caller.method}' with what it does, or call another method.",
            )
    guard.check(own, own)
    return _Call(guard, own, method, outer)


def is_in_method() -> bool:
    """Return whether a method of a dataset runs in this thread or task."""
    return _running.get() is not None


def insert_checks(dataset_class: type, base: type = object) -> None:
    """Insert the checks into the methods that a dataset class has of its own or takes from other classes.

    These are its constructor, its public methods, operators such as ``dataset[key]``, and any other method or
    property with an annotation. What it takes from other classes, such as mixins, is checked in this class
    only.

    :param base: the class of which all dataset classes are; those have their checks already.
    :raises TypeError: for an asynchronous generator, and for an annotated member that cannot be checked.
    """
    members: dict[str, Any] = {}
    for each in reversed(dataset_class.__mro__):
        if each is dataset_class or not issubclass(each, base):
            members.update(vars(each))
        else:
            for name in vars(each):
                members.pop(name, None)
    for name, member in members.items():
        checked = _check_member(name, member)
        if checked is not member:
            setattr(dataset_class, name, checked)


def _check_member(name: str, member: Any) -> Any:
    """Return a member of a class with its checks; the member itself when it needs none."""
    if isinstance(member, property):
        return _check_property(name, member)
    if isinstance(member, functools.cached_property):
        if hasattr(member.func, _MARK) and not _has_checks(member.func):
            member.func = _check(member.func, name)
        return member
    if isinstance(member, functools.partialmethod) and inspect.isfunction(member.func):
        if not _is_checked(name, member.func):
            return member
        return functools.partialmethod(_check(member.func, name), *member.args, **member.keywords)
    if inspect.isfunction(member):
        return _check(member, name) if _is_checked(name, member) else member
    if not hasattr(member, _MARK) or _has_checks(member):
        return member
    if isinstance(member, (staticmethod, classmethod)):
        raise TypeError(
            f"Method '{name}' of a dataset class cannot be a {type(member).__name__} with an annotation: "
            "there is no dataset to check when it is called."
        )
    return _check(_to_function(member), name)


def _check_property(name: str, member: property) -> property:
    parts: dict[str, Any] = {"fget": member.fget, "fset": member.fset, "fdel": member.fdel}
    checked = {key: _check(each, name) for key, each in parts.items() if hasattr(each, _MARK)}
    return property(**{**parts, **checked}, doc=member.__doc__) if checked else member


def _to_function(member: Any) -> Callable[..., Any]:
    """Return a function that calls another kind of member, such as one with ``functools.lru_cache``."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return member.__get__(self, type(self))(*args, **kwargs)

    return functools.update_wrapper(call, member)


def _has_checks(function: Any) -> bool:
    return hasattr(function, _CHECKED)


def _is_checked(name: str, function: Callable[..., Any]) -> bool:
    if _has_checks(function):
        return False
    return not name.startswith("_") or name in _CALLED_METHODS or hasattr(function, _MARK)


def _check(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    access: AccessKind | None = getattr(function, _MARK, None)
    make = _check_call
    if inspect.isasyncgenfunction(function):
        raise TypeError(f"Method '{name}' of a dataset class cannot be an asynchronous generator.")
    if inspect.isgeneratorfunction(function):
        make = _check_generator
    elif inspect.iscoroutinefunction(function):
        make = _check_coroutine
    checked = functools.wraps(function)(make(function, name, access))
    setattr(checked, _CHECKED, True)
    return checked


def _check_call(
    function: Callable[..., Any], name: str, access: AccessKind | None
) -> Callable[..., Any]:
    is_constructor = name == "__init__"

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        # As in enter_method, which would take as long again.
        shown = type(self).__name__ if is_constructor else name
        token = _running.set(_begin(self.guard, shown, access, is_constructor=is_constructor))
        try:
            return function(self, *args, **kwargs)
        finally:
            _running.reset(token)

    return call


def _check_coroutine(
    function: Callable[..., Any], name: str, access: AccessKind | None
) -> Callable[..., Any]:
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with enter_method(self.guard, name, access):
            return await function(self, *args, **kwargs)

    return call


def _check_generator(
    function: Callable[..., Any], name: str, access: AccessKind | None
) -> Callable[..., Any]:
    """Check when the method is called; each step of the generator then runs as this method."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        running = _begin(self.guard, name, access)
        return _run_steps(running, function(self, *args, **kwargs))

    return call


def _run_steps(call: _Call, steps: Iterator[Any]) -> Iterator[Any]:
    while True:
        token = _running.set(call)
        try:
            value = next(steps)
        except StopIteration:
            return
        finally:
            _running.reset(token)
        yield value
