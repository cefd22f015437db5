"""Plans a synchronization: a three-way merge of each entity. Everything here is pure.

The base is what instance and folder agreed on last. Each side has a base of its own, because an instance may
complete what it stores (versions of plugins, for instance): a difference that was there after the last
synchronization is not a change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from localcdap.sync.base_records import BaseTexts
from localcdap.sync.file_names import choose_path, fold_path
from localcdap.sync.files import FileEntity
from localcdap.sync.json_files import format_document
from localcdap.sync.kinds import EntityKind
from localcdap.sync.merge import ABSENT, Bases, Choose, Merge, MergeConflict, Side
from localcdap.sync.model import (
    BaseRecord,
    Conflict,
    FileChange,
    InstanceChange,
    SyncAction,
    SyncDirection,
    SyncPlan,
    SyncRequest,
    make_address,
    make_conflict_address,
)

ALL: Final = "all"
"""The address of all conflicts."""


class EntityStates(NamedTuple):
    """An entity, as both sides have it, and as they had it."""

    kind: EntityKind
    key: str
    instance: Any
    file: FileEntity | None
    base: BaseTexts | None

    @property
    def folder(self) -> Any:
        """The document of the file."""
        return ABSENT if self.file is None else self.file.document


class Planner:
    """Collects what a synchronization does.

    :param taken: the paths of all files of the folder.
    """

    def __init__(self, request: SyncRequest, taken: Sequence[str]) -> None:
        self._request = request
        self._taken = {fold_path(path) for path in taken}
        self._at_top = False
        self.plan: Final = SyncPlan([], [], [], [], [])

    def put_pipelines_at_top(self) -> None:
        """Put files of new pipelines where CDAP's source control has them: at the top of the folder."""
        self._at_top = True

    def add(self, states: EntityStates) -> None:
        """Plan for one entity."""
        entity = make_address(states.kind.name, states.key)
        mine, theirs = _to_text(states.instance), _to_text(states.folder)
        if mine == theirs:
            if states.base != (None if mine is None else BaseTexts(mine, mine)):
                self.plan.records.append(BaseRecord(states.kind.name, states.key, mine, mine))
            if self._request.direction is not SyncDirection.PULL:
                self._change_file(states, entity, states.folder)
            return
        texts = states.base or BaseTexts(None, None)
        direction = self._request.direction
        changed = {
            SyncDirection.BOTH: texts != (theirs, mine),
            SyncDirection.PULL: theirs != texts.folder,
            SyncDirection.PUSH: mine != texts.instance,
        }
        if not changed[direction]:
            return
        choose = self._make_choose(states, entity)
        bases = Bases(_to_document(texts.instance), _to_document(texts.folder))
        merge = states.kind.merge(bases, states.instance, states.folder, choose)
        if merge.conflicts:
            self.plan.conflicts += [self._to_conflict(states, entity, e) for e in merge.conflicts]
            return
        if direction is not SyncDirection.PUSH:
            self._change_instance(states, entity, merge.mine)
        if direction is not SyncDirection.PULL:
            self._change_file(states, entity, merge.theirs)
        self.plan.records.append(_make_record(states, direction, bases, merge))

    def _make_choose(self, states: EntityStates, entity: str) -> Choose:
        choices = self._request.choices
        title = _make_title(states)

        def choose(path: Sequence[str]) -> Side | None:
            for address in (make_conflict_address(entity, list(path)), entity, title, ALL):
                if address in choices:
                    return choices[address]
            return None

        return choose

    def _to_conflict(self, states: EntityStates, entity: str, found: MergeConflict) -> Conflict:
        return Conflict(
            **msgspec.structs.asdict(found),
            entity=_make_title(states),
            address=make_conflict_address(entity, found.path),
            where=describe_path(found.path),
            file=states.file.file.path if states.file is not None else None,
        )

    def _change_instance(self, states: EntityStates, entity: str, value: Any) -> None:
        before = _to_text(states.instance)
        if _to_text(value) == before:
            return
        self.plan.instance.append(
            InstanceChange(
                entity,
                _make_title(states),
                states.kind.name,
                states.key,
                _find_action(before, value),
                before,
                value,
            )
        )

    def _change_file(self, states: EntityStates, entity: str, value: Any) -> None:
        text, file, formats = _to_text(value), states.file, self._request.formats
        is_formatted = file is None or file.is_canonical or not formats
        if text == _to_text(states.folder) and is_formatted:
            return
        if file is not None:
            path = file.file.path
        else:
            folder = "" if self._at_top and states.kind.name == "pipelines" else states.kind.name
            path = choose_path(folder, states.kind.get_path_parts(states.key, value), self._taken)
            self._taken.add(fold_path(path))
        before = None if file is None else file.file.text
        self.plan.files.append(
            FileChange(
                entity,
                _make_title(states),
                _find_action(before, value),
                path,
                before,
                text,
                file is None or file.is_canonical or formats,
            )
        )


def describe_path(path: Sequence[str]) -> str:
    """Return a path in words.

    >>> describe_path(["config", "stages", "sink", "plugin", "properties", "path"])
    "stage 'sink', property 'path'"
    """
    words, rest = [], list(path)
    if rest[:1] == ["config"] and len(rest) > 1:
        rest = rest[1:]
    nouns = {"stages": "stage", "postActions": "post action", "preferences": "preference"}
    if len(rest) > 1 and rest[0] in nouns:
        words.append(f"{nouns[rest[0]]} '{rest[1]}'")
        rest = rest[2:]
    if rest[:1] == ["plugin"] and len(rest) > 1:
        rest = rest[1:]
    if rest[:1] == ["properties"] and len(rest) > 1:
        words.append(f"property '{rest[1]}'")
        rest = rest[2:]
    words += [f"'{'.'.join(rest)}'"] if rest else []
    return ", ".join(words)


def _make_record(
    states: EntityStates, direction: SyncDirection, bases: Bases, merge: Merge
) -> BaseRecord:
    """Return what both sides agree on afterwards.

    Where only one side follows, its own changes stay changes: its base gets those of the other side only.
    """
    instance, folder = merge.mine, merge.theirs
    if direction is SyncDirection.PULL:
        folder = states.folder
        if _to_text(states.instance) != _to_text(bases.mine):
            instance = states.kind.merge(bases, bases.mine, folder).mine
    elif direction is SyncDirection.PUSH:
        instance = states.instance
        if _to_text(states.folder) != _to_text(bases.theirs):
            folder = states.kind.merge(bases, instance, bases.theirs).theirs
    return BaseRecord(states.kind.name, states.key, _to_text(folder), _to_text(instance))


def _make_title(states: EntityStates) -> str:
    """Return the address of an entity, with the name that people know."""
    title = states.kind.get_title(states.key, _get_any(states))
    return make_address(states.kind.name, title)


def _get_any(states: EntityStates) -> Any:
    """Return the document of one of the sides, or the base."""
    found = (states.instance, states.folder, _to_document(states.base and states.base.instance))
    return next(each for each in found if each is not ABSENT)


def _find_action(before: str | None, value: Any) -> SyncAction:
    if value is ABSENT:
        return SyncAction.DELETE
    return SyncAction.ADD if before is None else SyncAction.CHANGE


def _to_text(document: Any) -> str | None:
    return None if document is ABSENT else format_document(document)


def _to_document(text: str | None) -> Any:
    return ABSENT if text is None else json.loads(text)


def group_states(
    kinds: Mapping[str, EntityKind],
    instance: Mapping[tuple[str, str], Any],
    files: Mapping[tuple[str, str], FileEntity],
    bases: Mapping[tuple[str, str], BaseTexts],
) -> list[EntityStates]:
    """Return the states of all entities, by kind and key."""
    order = {name: place for place, name in enumerate(kinds)}
    keys = sorted(
        {*instance, *files, *(key for key in bases if key[0] in order)},
        key=lambda each: (order[each[0]], each[1]),
    )
    return [
        EntityStates(
            kinds[kind],
            key,
            instance.get((kind, key), ABSENT),
            files.get((kind, key)),
            bases.get((kind, key)),
        )
        for kind, key in keys
    ]
