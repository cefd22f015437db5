"""The resources that the deletion of a namespace removes: every package registers its own kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from localcdap.store.store import Transaction


def _list_no_blockers(_tx: Transaction, _namespace: str) -> Sequence[str]:
    return ()


def _release_nothing(_namespace: str) -> None: ...


def _remove_no_files(_namespace: str, _generation: int) -> Sequence[str]:
    return ()


def _remove_no_rows(_tx: Transaction, _namespace: str) -> None: ...


class NamespaceResource(msgspec.Struct, frozen=True):
    """One kind of resource in namespaces, and how a deletion removes it.

    The deletion takes the steps in the order of the fields, each step for all resources before the next.
    """

    what: str
    """A plural noun for messages, such as ``runs``."""
    blockers: Callable[[Transaction, str], Sequence[str]] = _list_no_blockers
    """List what is in use, such as active runs; it prevents the deletion unless it is forced."""
    release: Callable[[str], None] = _release_nothing
    """End what is in use, and wait until it has ended."""
    remove_files: Callable[[str, int], Sequence[str]] = _remove_no_files
    """Remove what is outside the database. The namespace (with its generation) is marked as deleted by then.
    Returns the new paths of the user's own files. It is called again after a crash and must be idempotent."""
    remove: Callable[[Transaction, str], None] = _remove_no_rows
    """Remove what is in the database, in the transaction that deletes the namespace."""
