"""Three-way merge of JSON documents: by key, and in lists of named elements by element.

Of the lists of a pipeline, stages are known by their names and connections by all that they are, so that each
stage, and each property in it, is merged for itself. Any other list is one value.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from localcdap.sync.json_files import are_equal

ABSENT: Final = msgspec.UNSET
"""In place of a value that is not there."""
Path: TypeAlias = tuple[str, ...]
"""Keys, and names of elements, that lead to a value."""
ElementKey: TypeAlias = Callable[[Any], str | None]
"""Returns what an element of a list is known by; None for an element that has no such key."""
Lists: TypeAlias = Mapping[Path, ElementKey]
"""The lists of a kind of documents that are merged by element, by their paths."""


class Side(enum.StrEnum):
    """The side of which a conflict takes the value."""

    MINE = "mine"
    """The instance."""
    THEIRS = "theirs"
    """The folder, and so what others have pushed to Git."""


Choose: TypeAlias = Callable[[Sequence[str]], Side | None]
"""Returns the side that was chosen for the conflict at a path; None for one that is not solved."""


class MergeConflict(msgspec.Struct):
    """A value that both sides have changed, each in another way; without what is not there."""

    path: list[str]
    """Keys and names that lead to it; empty for the whole document."""
    base: Any = ABSENT
    mine: Any = ABSENT
    theirs: Any = ABSENT


class Merge(msgspec.Struct):
    """The result of a merge."""

    value: Any
    """The merged document, :data:`ABSENT` for one to delete. Where it conflicts, it has ``base``."""
    conflicts: list[MergeConflict]


def merge_documents(
    base: Any,
    mine: Any,
    theirs: Any,
    lists: Lists,
    choose: Choose = lambda _: None,
) -> Merge:
    """Merge two documents that came from the same one.

    :param base: the common one, or :data:`ABSENT`, as the two others may be.
    """
    merging = _Merging(lists, choose)
    return Merge(merging.merge((), base, mine, theirs), merging.conflicts)


class _Merging:
    def __init__(self, lists: Lists, choose: Choose) -> None:
        self._lists = lists
        self._choose = choose
        self.conflicts: list[MergeConflict] = []

    def merge(self, path: Path, base: Any, mine: Any, theirs: Any) -> Any:
        if _are_same(mine, theirs) or _are_same(base, theirs):
            return mine
        if _are_same(base, mine):
            return theirs
        if (
            isinstance(mine, dict)
            and isinstance(theirs, dict)
            and not _have_other_plugin(mine, theirs)
        ):
            return self._merge_objects(path, base if isinstance(base, dict) else {}, mine, theirs)
        key = self._lists.get(path)
        if key is not None and isinstance(mine, list) and isinstance(theirs, list):
            named = [_name_elements(each, key) for each in (base, mine, theirs)]
            if named[1] is not None and named[2] is not None:
                return self._merge_elements(path, named[0] or {}, named[1], named[2])
        return self._decide(path, base, mine, theirs)

    def _merge_objects(
        self, path: Path, base: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]
    ) -> dict[str, Any]:
        merged = {}
        for key in dict.fromkeys((*mine, *theirs)):
            value = self.merge(
                (*path, key), base.get(key, ABSENT), mine.get(key, ABSENT), theirs.get(key, ABSENT)
            )
            if value is not ABSENT:
                merged[key] = value
        return merged

    def _merge_elements(
        self, path: Path, base: dict[str, Any], mine: dict[str, Any], theirs: dict[str, Any]
    ) -> list[Any]:
        merged = self._merge_objects(path, base, mine, theirs)
        return [merged[key] for key in _order(list(base), list(mine), list(theirs), merged)]

    def _decide(self, path: Path, base: Any, mine: Any, theirs: Any) -> Any:
        side = self._choose(path)
        if side is None:
            self.conflicts.append(MergeConflict(list(path), base, mine, theirs))
            return base
        return mine if side is Side.MINE else theirs


def _are_same(one: Any, other: Any) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return are_equal(one, other)


def _have_other_plugin(mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Return whether two elements are stages with other plugins, whose properties do not belong together."""
    plugins = [each.get("plugin") for each in (mine, theirs)]
    if not all(isinstance(plugin, dict) for plugin in plugins):
        return False
    one, other = ((plugin.get("type"), plugin.get("name")) for plugin in plugins if plugin)
    return one != other


def _name_elements(elements: Any, key: ElementKey) -> dict[str, Any] | None:
    """Return the elements of a list by their keys; None when one has none, or two have the same."""
    if not isinstance(elements, list):
        return None
    named = {key(each): each for each in elements}
    if None in named or len(named) < len(elements):
        return None
    return {str(name): each for name, each in named.items()}


def _order(
    base: list[str], mine: list[str], theirs: list[str], merged: Mapping[str, Any]
) -> list[str]:
    """Return the order of merged elements.

    The side that has moved elements determines it; if that is both or none, the side that has all
    elements; else the order that is first in the alphabet, so that both sides find the same.
    """
    sides = [[key for key in keys if key in merged] for keys in (mine, theirs)]
    moved = [_has_moved(base, keys) for keys in sides]
    whole = [len(keys) == len(merged) for keys in sides]
    if moved[0] != moved[1]:
        first = moved.index(True)
    elif whole[0] != whole[1]:
        first = whole.index(True)
    else:
        first = 0 if json.dumps(sides[0]) <= json.dumps(sides[1]) else 1
    order, others = sides[first], sides[1 - first]
    for index, key in enumerate(others):
        if key not in order:
            order.insert(order.index(others[index - 1]) + 1 if index else 0, key)
    return order


def _has_moved(base: list[str], keys: list[str]) -> bool:
    common = [key for key in base if key in keys]
    return common != [key for key in keys if key in base]
