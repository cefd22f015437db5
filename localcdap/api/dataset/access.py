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


def insert_checks(dataset_class: type) -> None:
    """Insert the checks into the methods that a dataset class defines itself.

    These are its constructor, its public methods, and any other method or property with an annotation.

    :raises TypeError: for an asynchronous generator, which cannot be checked.
    """
    for name, member in list(vars(dataset_class).items()):
        if isinstance(member, property):
            if member.fget is not None and hasattr(member.fget, _MARK):
                setattr(dataset_class, name, property(_check(member.fget, name), member.fset))
        elif inspect.isfunction(member) and _is_checked(name, member):
            setattr(dataset_class, name, _check(member, name))


def _is_checked(name: str, function: Callable[..., Any]) -> bool:
    if hasattr(function, _CHECKED):
        return False
    return name == "__init__" or not name.startswith("_") or hasattr(function, _MARK)


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
