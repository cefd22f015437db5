"""Where stages of another area, such as a recipe, can stand in a pipeline, and the edit that does it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from localcdap.api.pipeline import StageConnection
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.editing.edits import CompoundEdit, Connect, Edit
from localcdap.tui.pipeline.connection_rules import (
    ConnectionRules,
    OutputBranch,
    disconnect_edit,
    format_connection,
)
from localcdap.tui.pipeline.stage_clipboard import parse_stages
from localcdap.tui.routes import InsertionTarget
from localcdap.tui.studio import Choice

_NEW = "a stage of a name that is not taken"


class InsertionPlace(NamedTuple):
    """Where stages can stand: in a connection, after a stage, with their own source before one, or alone."""

    connection: StageConnection | None = None
    after: str | None = None
    before: str | None = None


def list_places(document: PipelineDocument, *, has_source: bool) -> list[Choice[InsertionPlace]]:
    """Return where a transform can stand, the connections first.

    :param has_source: whether it may come with a source of its own.
    """
    rules = ConnectionRules(document)
    rules.types[_NEW] = "transform"
    choices = [
        Choice(
            f"In the connection {format_connection(each)}",
            InsertionPlace(each),
            detail=f"{each.target} gets the rows after the recipe.",
        )
        for each in document.connections
        if rules.rejection_reason(each.source, _NEW) is None
        and rules.rejection_reason(_NEW, each.target) is None
    ]
    stages = [each.name for each in document.stages]
    choices += [
        Choice(f"After {name}, beside what follows it", InsertionPlace(after=name))
        for name in stages
        if rules.rejection_reason(name, _NEW) is None
    ]
    if has_source:
        choices += [
            Choice(f"With its source, into {name}", InsertionPlace(before=name))
            for name in stages
            if rules.rejection_reason(_NEW, name) is None
        ]
    choices.append(Choice("Connected to nothing yet", InsertionPlace()))
    return choices


def build_insertion(
    target: InsertionTarget,
    place: InsertionPlace,
    document: PipelineDocument,
    taken: Collection[str],
) -> tuple[CompoundEdit, str]:
    """Return the edit that puts stages at a place, and the name of the stage with the recipe.

    :param taken: the names that stages have.
    """
    text = target.stage if place.before is None else target.branch
    added, names = parse_stages(text or target.stage, taken)
    name = names[-1]
    edits: list[Edit] = list(added.edits)
    rules = ConnectionRules(document)
    if place.connection is not None:
        gone = disconnect_edit(place.connection)
        into = OutputBranch(gone.port, gone.condition)
        edits += [gone, into.connect_edit(gone.source, name), Connect(name, gone.target)]
    if place.after is not None:
        branches = rules.list_branches(place.after) or [OutputBranch()]
        edits.append(branches[0].connect_edit(place.after, name))
    if place.before is not None:
        edits.append(Connect(name, place.before))
    return CompoundEdit(edits), name
