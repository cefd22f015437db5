"""Requests and answers of synchronizations."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from localcdap.sync.json_files import format_document
from localcdap.sync.merge import MergeConflict, Side


class SyncDirection(enum.StrEnum):
    """What a synchronization changes; push and pull have the meaning of CDAP's source control."""

    BOTH = "both"
    PULL = "pull"
    """Changes of the folder come into the instance; no file changes."""
    PUSH = "push"
    """Changes of the instance go into the folder; no entity changes."""


class SyncAction(enum.StrEnum):
    """What happens to a file or an entity."""

    ADD = "add"
    CHANGE = "change"
    DELETE = "delete"


class SyncProblem(msgspec.Struct, rename="camel", omit_defaults=True):
    """Something that prevents a synchronization."""

    message: str
    corrective_action: str | None = None
    entity: str | None = None
    """The address of the entity, such as ``pipelines/orders``; None for a file that is none."""
    file: str | None = None
    """The path of the file in the folder; None for an entity of the instance."""
    line: int | None = None


class FolderFile(msgspec.Struct):
    """A file of the folder that holds an entity, or may hold one."""

    path: str
    """Relative to the folder, with ``/``."""
    text: str


class SyncRequest(msgspec.Struct, rename="camel"):
    """A namespace and a folder to synchronize."""

    namespace: str
    folder: str
    """The absolute path; what was synchronized before is remembered by it."""
    files: list[FolderFile]
    direction: SyncDirection = SyncDirection.BOTH
    choices: dict[str, Side] = {}
    """The sides to take in conflicts, by the address of a conflict, of an entity, or ``all``."""
    formats: bool = False
    """Whether files that are not in canonical form get it, also without a change of their content."""


class Conflict(MergeConflict, rename="camel"):
    """A value that the instance and the folder have changed, each in another way."""

    entity: str = ""
    address: str = ""
    """The address of the entity, and the path as a JSON pointer: ``pipelines/orders#/config/engine``."""
    where: str = ""
    """The path in words, such as ``stage 'sink', property 'path'``; empty for the whole entity."""
    file: str | None = None


class InstanceChange(msgspec.Struct, rename="camel"):
    """A change of an entity of the instance."""

    entity: str
    """Its address."""
    title: str
    """The same with the name that people know, for a draft."""
    kind: str
    key: str
    action: SyncAction
    before: str | None
    """The canonical text of the entity as the plan has seen it; None for none."""
    document: Any = msgspec.UNSET
    """What it is to be; absent for a deletion."""


class FileChange(msgspec.Struct, rename="camel"):
    """A change of a file."""

    entity: str
    """The address of the entity in it."""
    title: str
    """The same with the name that people know, for a draft."""
    action: SyncAction
    path: str
    before: str | None
    """The text of the file as the plan has seen it; None for none."""
    text: str | None
    """Its new text; None for a deletion."""
    is_canonical: bool = True
    """Whether the text that it replaces is in canonical form, so that nothing but values is lost."""


class BaseRecord(msgspec.Struct, rename="camel"):
    """What both sides of an entity agree on after a synchronization."""

    kind: str
    key: str
    folder_text: str | None
    """The canonical text of the folder's side; None when the entity is on no side any more."""
    instance_text: str | None
    """The canonical text of the instance's side, which may differ: versions of plugins, for instance."""


class SyncPlan(msgspec.Struct, rename="camel"):
    """What a synchronization will do."""

    problems: list[SyncProblem]
    conflicts: list[Conflict]
    instance: list[InstanceChange]
    files: list[FileChange]
    records: list[BaseRecord]

    @property
    def is_empty(self) -> bool:
        """Whether both sides agree, as far as the direction goes."""
        return not (self.problems or self.conflicts or self.instance or self.files)


class InstanceOrder(msgspec.Struct, rename="camel"):
    """The changes of the instance that a plan consists of."""

    namespace: str
    folder: str
    changes: list[InstanceChange]
    records: list[BaseRecord] = []
    """What is agreed on as soon as the changes are made, because the folder has it already."""
    fix: bool = False
    """Deploy pipelines with installed versions of plugins in place of missing ones."""


class HeldEntity(msgspec.Struct, rename="camel"):
    """An entity that the instance cannot take yet; a later synchronization tries again."""

    entity: str
    title: str
    reason: str


class SyncOutcome(msgspec.Struct, rename="camel"):
    """What the instance has made of an order."""

    problems: list[SyncProblem]
    """Why nothing was changed."""
    held: list[HeldEntity]
    stored: dict[str, str]
    """The canonical texts of the entities that were written, by address, as the instance has them."""


def complete_records(
    records: Sequence[BaseRecord], changes: Sequence[InstanceChange], stored: Mapping[str, str]
) -> list[BaseRecord]:
    """Return records with the texts that the instance has stored in place of those that were planned."""
    planned = {
        each.entity: None if each.document is msgspec.UNSET else format_document(each.document)
        for each in changes
    }

    def complete(record: BaseRecord) -> BaseRecord:
        entity = make_address(record.kind, record.key)
        if entity not in stored or planned.get(entity) != record.instance_text:
            return record
        return BaseRecord(record.kind, record.key, record.folder_text, stored[entity])

    return [complete(each) for each in records]


def make_address(kind: str, key: str) -> str:
    """Return the address of an entity, such as ``pipelines/orders``."""
    return f"{kind}/{key}"


def make_conflict_address(entity: str, path: list[str]) -> str:
    """Return the address of a conflict.

    >>> make_conflict_address("pipelines/orders", ["config", "a/b"])
    'pipelines/orders#/config/a~1b'
    """
    pointer = "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in path)
    return f"{entity}#{pointer}" if path else entity
