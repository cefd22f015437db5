"""What the studio uses of the private parts of Textual.

A test compares these parts with what this module expects of them, so that an upgrade of Textual that
changes one fails there and not on a screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from typing import Final

from textual._callback import invoke
from textual.await_remove import AwaitRemove
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_SOURCES: Final = 1024
"""Sources whose rules are kept. Each kind of widget is one; the studio has about 150."""
_THEMES: Final = 2
"""Themes whose rules are kept: that of now, and the one that is there before it is known."""

_Rules = LRUCache[tuple[object, ...], list[RuleSet]]
_parsed: Final[LRUCache[frozenset[tuple[str, str]], _Rules]] = LRUCache(_THEMES)


class CachedStylesheet(Stylesheet):
    """Keeps the rules of every source.

    Textual's keeps those of 64 and drops the oldest first. With more sources than that, and each new kind of
    widget is another, it keeps none: all are parsed again, which takes longer than to show a dialog.
    """

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _rules_with(self._variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        self._parse_cache = LRUCache(1)  # it is cleared; those that are kept are not
        super().set_variables(variables)
        self._parse_cache = _rules_with(variables)

    def reparse(self) -> None:
        """Have the rules of all sources with the variables of now."""
        self.parse()


def _rules_with(variables: Mapping[str, str]) -> _Rules:
    """The rules that were parsed with these variables, to be added to."""
    key = frozenset(variables.items())
    rules = _parsed.get(key)
    if rules is None:
        rules = _parsed[key] = LRUCache(_SOURCES)
    return rules


class CancellableRemove(AwaitRemove):
    """What :meth:`Widget.remove` returns here.

    Who waits for Textual's own and is cancelled meanwhile, as an exclusive worker is, cancels the tasks of
    the widgets, for which the app waits too: it would end without a word. Here only the waiting ends.
    """

    def __await__(self) -> Generator[None, None, None]:
        waiting = [task for task in self._tasks if task is not asyncio.current_task()]

        async def wait() -> None:
            if waiting:
                await asyncio.wait(waiting)
            if self._post_remove is not None:
                await invoke(self._post_remove)

        return wait().__await__()
