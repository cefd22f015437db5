"""What a namespace's deletion takes with it: each room hands in its own part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from localcdap.store.store import Transaction


def _no_blockers(_tx: Transaction, _namespace: str) -> Sequence[str]:
    return ()


def _no_release(_namespace: str) -> None: ...


def _no_files(_namespace: str, _generation: int) -> Sequence[str]:
    return ()


def _no_rows(_tx: Transaction, _namespace: str) -> None: ...


class NamespaceResource(msgspec.Struct, frozen=True):
    """One kind of thing in namespaces, and how it goes. The steps are taken in the order of the fields,
    each for all kinds before the next.
    """

    what: str
    """Plural noun for messages, such as ``runs``."""
    blockers: Callable[[Transaction, str], Sequence[str]] = _no_blockers
    """What is busy there, such as an active run: it keeps the namespace from being deleted unless forced."""
    release: Callable[[str], None] = _no_release
    """End what is busy there, and wait until it has ended."""
    remove_files: Callable[[str, int], Sequence[str]] = _no_files
    """Remove what is not in the database; the namespace (and its generation) is out of use by then. Returns
    where the user's own files are kept. Called again after a crash, so that it must bear being done twice."""
    remove: Callable[[Transaction, str], None] = _no_rows
    """Remove what is in the database, in the transaction in which the namespace goes."""
