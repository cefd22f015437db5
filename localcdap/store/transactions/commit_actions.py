"""What dataset classes have a transaction do after its commit, such as removing files."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

_LOG: Final = logging.getLogger(__name__)


class CommitActions:
    """Functions that are called in their order when a transaction has been committed."""

    def __init__(self) -> None:
        self._actions: list[Callable[[], None]] = []

    def add(self, action: Callable[[], None]) -> None:
        """Register a function."""
        self._actions.append(action)

    def run(self) -> None:
        """Call the functions. The commit cannot be undone, so their errors are only logged."""
        for action in self._actions:
            try:
                action()
            except Exception:
                _LOG.exception("what follows the commit of a transaction has failed")
