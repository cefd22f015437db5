"""Errors in the declarations of plugin and application classes.

An invalid declaration raises TypeError where the class is created. While an artifact is inspected, the
problems are collected instead, so that its author sees all of them at once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final, NamedTuple


class DeclarationProblem(NamedTuple):
    """An error in the declaration of a class."""

    owner: type
    message: str


class _Collector:
    """The collected problems of this process, by module."""

    def __init__(self) -> None:
        self.by_module: dict[str, list[DeclarationProblem]] = {}
        self.is_collecting = False


_collector: Final = _Collector()


def reject_declaration(owner: type, message: str) -> None:
    """Report an error in the declaration of a class.

    :param message: what is wrong, without the name of the class.
    :raises TypeError: unless problems are being collected; then the rest of the declaration takes effect.
    """
    if not _collector.is_collecting:
        raise TypeError(f"{owner.__qualname__}: {message}")
    _collector.by_module.setdefault(owner.__module__, []).append(DeclarationProblem(owner, message))


@contextlib.contextmanager
def collect_problems() -> Iterator[None]:
    """Collect problems inside the block instead of raising them. For one thread of a process only."""
    _collector.is_collecting = True
    try:
        yield
    finally:
        _collector.is_collecting = False


def list_problems(module: str) -> list[DeclarationProblem]:
    """Return the problems collected when a module was imported, in the order of its text."""
    return _collector.by_module.get(module, [])
