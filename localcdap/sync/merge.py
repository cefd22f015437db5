"""Three-way merge of JSON documents: by key, and in lists of named elements by element.

Of the lists of a pipeline, stages are known by their names and connections by all that they are, so that each
stage, and each property in it, is merged for itself. Any other list is one value.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

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


_Object: TypeAlias = dict[str, Any]
Choose: TypeAlias = Callable[[Sequence[str]], Side | None]
"""Returns the side that was chosen for the conflict at a path; None for one that is not solved."""


class MergeConflict(msgspec.Struct):
    """A value that both sides have changed, each in another way; without what is not there."""

    path: list[str]
    """Keys and names that lead to it; empty for the whole document."""
    base: Any = ABSENT
    mine: Any = ABSENT
    theirs: Any = ABSENT


class Bases(NamedTuple):
    """What the two sides were when they agreed last.

    They may differ, because an instance completes what it stores. A difference that was there then stays.
    """

    mine: Any
    theirs: Any


class Merge(msgspec.Struct):
    """The result of a merge, :data:`ABSENT` for what is to be deleted. In conflicts, it has the bases."""

    mine: Any
    theirs: Any
    conflicts: list[MergeConflict]


def merge_documents(
    bases: Bases, mine: Any, theirs: Any, lists: Lists, choose: Choose = lambda _: None
) -> Merge:
    """Merge the changes that two sides have made since they agreed."""
    merging = _Merging(lists, choose)
    return Merge(*merging.merge((), bases, mine, theirs), merging.conflicts)


_Pair: TypeAlias = tuple[Any, Any]
"""What the two sides become."""


class _Merging:
    def __init__(self, lists: Lists, choose: Choose) -> None:
        self._lists = lists
        self._choose = choose
        self.conflicts: list[MergeConflict] = []

    def merge(self, path: Path, bases: Bases, mine: Any, theirs: Any) -> _Pair:
        mine_changed, theirs_changed = (
            not _are_same(bases.mine, mine),
            not _are_same(bases.theirs, theirs),
        )
        if _are_same(mine, theirs) or not (mine_changed or theirs_changed):
            return mine, theirs
        if (mine_changed and theirs_changed) or not _are_same(*bases):
            inner = self._merge_inside(path, bases, mine, theirs)
            if inner is not None:
                return inner
        if not theirs_changed:
            return mine, mine
        return (theirs, theirs) if not mine_changed else self._decide(path, bases, mine, theirs)

    def _merge_inside(self, path: Path, bases: Bases, mine: Any, theirs: Any) -> _Pair | None:
        """Merge two values part by part; None for values that are not merged in this way."""
        if isinstance(mine, dict) and isinstance(theirs, dict):
            if _have_other_plugin(mine, theirs):
                return None
            return self._merge_objects(path, [_as_object(each) for each in bases], mine, theirs)
        key = self._lists.get(path)
        if key is None:
            return None
        named = [_name_elements(each, key) for each in (*bases, mine, theirs)]
        if named[2] is None or named[3] is None:
            return None
        before = [named[0] or {}, named[1] or {}]
        merged = self._merge_objects(path, before, named[2], named[3])
        orders = [
            _order(list(base), list(named[2]), list(named[3]), values)
            for base, values in zip(before, merged, strict=True)
        ]
        first, second = (
            [values[name] for name in order] for order, values in zip(orders, merged, strict=True)
        )
        return first, second

    def _merge_objects(
        self, path: Path, bases: list[_Object], mine: _Object, theirs: _Object
    ) -> tuple[_Object, _Object]:
        merged: tuple[_Object, _Object] = {}, {}
        for key in dict.fromkeys((*mine, *theirs)):
            before = Bases(*(base.get(key, ABSENT) for base in bases))
            values = self.merge(
                (*path, key), before, mine.get(key, ABSENT), theirs.get(key, ABSENT)
            )
            for side, value in zip(merged, values, strict=True):
                if value is not ABSENT:
                    side[key] = value
        return merged

    def _decide(self, path: Path, bases: Bases, mine: Any, theirs: Any) -> _Pair:
        side = self._choose(path)
        if side is None:
            self.conflicts.append(MergeConflict(list(path), bases.theirs, mine, theirs))
            return bases
        return (mine, mine) if side is Side.MINE else (theirs, theirs)


def _as_object(value: Any) -> _Object:
    return value if isinstance(value, dict) else {}


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
