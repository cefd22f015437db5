"""What is wrong with a declaration: an exception where the class is made, or one of many problems while an
artifact is inspected, which tells its author all of them at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, NamedTuple


class DeclarationProblem(NamedTuple):
    """A class that declares something wrongly."""

    owner: type
    message: str


class _Noted:
    """The problems of this process by module, and whether they are being noted at all."""

    def __init__(self) -> None:
        self.by_module: dict[str, list[DeclarationProblem]] = {}
        self.is_on = False


_noted: Final = _Noted()


def reject_declaration(owner: type, message: str) -> None:
    """Tell that the declaration of a class is wrong.

    :param message: what is wrong, without the name of the class.
    :raises TypeError: unless problems are being noted; then the rest of the declaration counts.
    """
    if not _noted.is_on:
        raise TypeError(f"{owner.__qualname__}: {message}")
    _noted.by_module.setdefault(owner.__module__, []).append(DeclarationProblem(owner, message))


@contextlib.contextmanager
def collect_problems() -> Iterator[None]:
    """Note problems instead of raising them. For one thread of a process only."""
    _noted.is_on = True
    try:
        yield
    finally:
        _noted.is_on = False


def list_problems(module: str) -> list[DeclarationProblem]:
    """The problems noted when a module was imported, in the order of its text."""
    return _noted.by_module.get(module, [])
