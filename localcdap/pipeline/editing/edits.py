"""The edits of an editing session.

As JSON an edit is an object with the key ``edit``: ``{"edit": "set-property", "stage": "File", "name":
"path", "value": "/in"}``. Stages are referred to by name; of several with one name the first is
meant. Post actions are stages too, but are not connected.
"""

from __future__ import annotations

from typing import Any

import msgspec


class _Edit(msgspec.Struct, tag_field="edit", rename="camel", frozen=True):
    pass


class SetProperty(_Edit, tag="set-property", frozen=True):
    """Set a property of a stage's plugin; None removes it."""

    stage: str
    name: str
    value: Any = None
    continues: bool = False
    """Whether it continues the previous edit of the same property, as typing does: both are undone as one."""


class SetProperties(_Edit, tag="set-properties", frozen=True):
    """Replace all properties of a stage's plugin."""

    stage: str
    properties: dict[str, Any]


class SetPlugin(_Edit, tag="set-plugin", frozen=True):
    """Set the plugin, or the artifact, of a stage; its properties stay."""

    stage: str
    type: str
    name: str
    artifact: dict[str, Any] | None = None
    """As in a document; None for any artifact that has the plugin."""


class SetNote(_Edit, tag="set-note", frozen=True):
    """Set the note of a stage, its key ``description``; None removes it."""

    stage: str
    text: str | None = None


class SetExpectations(_Edit, tag="set-expectations", frozen=True):
    """Set the rules for the records of a stage, its key ``expectations``; none removes it."""

    stage: str
    rules: list[Any] = []
    """As in a document."""


class AddStage(_Edit, tag="add-stage", frozen=True):
    """Add a stage, connected to nothing."""

    stage: dict[str, Any]
    """As in a document, with ``name`` and ``plugin``; other keys stay."""
    post_action: bool = False


class RemoveStage(_Edit, tag="remove-stage", frozen=True):
    """Remove a stage and its connections."""

    stage: str


class RenameStage(_Edit, tag="rename-stage", frozen=True):
    """Rename a stage, in its connections too; properties of other stages that name it stay."""

    stage: str
    name: str


class DuplicateStage(_Edit, tag="duplicate-stage", frozen=True):
    """Add a copy of a stage, connected to nothing."""

    stage: str
    name: str | None = None
    """None for the name of the stage with a number."""


class Connect(_Edit, tag="connect", frozen=True, rename={"source": "from", "target": "to"}):
    """Connect two stages; ``port`` after a splitter, ``condition`` after a condition."""

    source: str
    target: str
    port: str | None = None
    condition: str | None = None


class Disconnect(_Edit, tag="disconnect", frozen=True, rename={"source": "from", "target": "to"}):
    """Remove the connections between two stages: all, or those with the given port or condition."""

    source: str
    target: str
    port: str | None = None
    condition: str | None = None


class SetSetting(_Edit, tag="set-setting", frozen=True):
    """Set a key of the pipeline's configuration, such as ``engine``, ``resources`` or ``properties``;
    ``name`` and ``description`` are keys of the pipeline. None removes it.
    """

    key: str
    value: Any = None


class CompoundEdit(_Edit, tag="together", frozen=True):
    """Several edits as one: all or none are applied, and they are undone as one."""

    edits: list[Edit]


class Undo(_Edit, tag="undo", frozen=True):
    """Undo the last edit."""


class Redo(_Edit, tag="redo", frozen=True):
    """Redo the edit that was undone last; not possible after another edit."""


Edit = (
    SetProperty
    | SetProperties
    | SetPlugin
    | SetNote
    | SetExpectations
    | AddStage
    | RemoveStage
    | RenameStage
    | DuplicateStage
    | Connect
    | Disconnect
    | SetSetting
    | CompoundEdit
    | Undo
    | Redo
)
