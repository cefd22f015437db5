"""What can be done to a pipeline in an editing session.

As JSON an edit is an object with the key ``edit``: ``{"edit": "set-property", "stage": "File", "name":
"path", "value": "/in"}``. Stages are named; of several with one name the first is meant. Post actions
are stages too, but are not connected.
"""

from __future__ import annotations

from typing import Any

import msgspec


class _Edit(msgspec.Struct, tag_field="edit", rename="camel", frozen=True):
    pass


class SetProperty(_Edit, tag="set-property", frozen=True):
    """Give a property of a stage's plugin a value; None removes it."""

    stage: str
    name: str
    value: Any = None
    continues: bool = False
    """Whether it goes on with the edit before it, if that set the same property: undone as one, while
    somebody types."""


class SetProperties(_Edit, tag="set-properties", frozen=True):
    """Give a stage's plugin exactly these properties."""

    stage: str
    properties: dict[str, Any]


class SetPlugin(_Edit, tag="set-plugin", frozen=True):
    """Let a stage use another plugin, or another artifact; its properties stay."""

    stage: str
    type: str
    name: str
    artifact: dict[str, Any] | None = None
    """As in a document; None for any that has the plugin."""


class SetNote(_Edit, tag="set-note", frozen=True):
    """Say something about a stage, in its key ``description``; None removes it."""

    stage: str
    text: str | None = None


class AddStage(_Edit, tag="add-stage", frozen=True):
    """Add a stage, connected to nothing."""

    stage: dict[str, Any]
    """As in a document: with ``name`` and ``plugin``; other keys are kept."""
    post_action: bool = False


class RemoveStage(_Edit, tag="remove-stage", frozen=True):
    """Remove a stage and its connections."""

    stage: str


class RenameStage(_Edit, tag="rename-stage", frozen=True):
    """Give a stage another name, in its connections too; properties of others that name it stay."""

    stage: str
    name: str


class DuplicateStage(_Edit, tag="duplicate-stage", frozen=True):
    """Add a copy of a stage, connected to nothing."""

    stage: str
    name: str | None = None
    """None for the stage's own name with a number."""


class Connect(_Edit, tag="connect", frozen=True, rename={"source": "from", "target": "to"}):
    """Connect two stages; ``port`` behind a splitter, ``condition`` behind a condition."""

    source: str
    target: str
    port: str | None = None
    condition: str | None = None


class Disconnect(_Edit, tag="disconnect", frozen=True, rename={"source": "from", "target": "to"}):
    """Remove a connection: all between the two stages, unless port or condition are given."""

    source: str
    target: str
    port: str | None = None
    condition: str | None = None


class SetSetting(_Edit, tag="set-setting", frozen=True):
    """Set a key of the pipeline's configuration, such as ``engine``, ``resources`` or ``properties``;
    ``name`` and ``description`` are those of the pipeline. None removes it.
    """

    key: str
    value: Any = None


class CompoundEdit(_Edit, tag="together", frozen=True):
    """Several edits as one, of which all are done or none; undone as one, too."""

    edits: list[Edit]


class Undo(_Edit, tag="undo", frozen=True):
    """Take back the last edit that is in effect."""


class Redo(_Edit, tag="redo", frozen=True):
    """Do again what was taken back last; not after another edit."""


Edit = (
    SetProperty
    | SetProperties
    | SetPlugin
    | SetNote
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
