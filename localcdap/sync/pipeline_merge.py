"""The three-way merge of pipelines: by stage, by property in a stage, and by connection."""

from __future__ import annotations

import copy
import json
from typing import Any, Final

from localcdap.sync.merge import (
    ABSENT,
    Bases,
    Choose,
    Lists,
    Merge,
    MergeConflict,
    Side,
    merge_documents,
)

_STAGES: Final = ("config", "stages")
_CONNECTIONS: Final = ("config", "connections")


def get_stage_name(stage: Any) -> str | None:
    """Return the name of the node of a stage; None when it has none."""
    name = stage.get("name") if isinstance(stage, dict) else None
    return name if isinstance(name, str) else None


def _get_ends(connection: Any) -> str | None:
    return json.dumps(connection, sort_keys=True) if isinstance(connection, dict) else None


PIPELINE_LISTS: Final[Lists] = {
    _STAGES: get_stage_name,
    ("config", "postActions"): get_stage_name,
    _CONNECTIONS: _get_ends,
}
"""The lists of a pipeline that are merged by element."""


def merge_pipelines(bases: Bases, mine: Any, theirs: Any, choose: Choose = lambda _: None) -> Merge:
    """Merge two pipelines by stage, connection and property.

    A stage that one side has removed, while the other has added a connection to it, is a conflict.
    """
    merge = merge_documents(bases, mine, theirs, PIPELINE_LISTS, choose)
    before, *sides = (_index_stages(each) for each in (bases.theirs, mine, theirs))
    for name in _list_loose_ends(merge.mine):
        path = [*_STAGES, name]
        is_removed = name in before and sum(name in side for side in sides) == 1
        if not is_removed or any(each.path == path for each in merge.conflicts):
            continue
        stages = [side.get(name, ABSENT) for side in sides]
        chosen = choose(path)
        if chosen is None:
            merge.conflicts.append(MergeConflict(path, before[name], *stages))
            continue
        stage = stages[0 if chosen is Side.MINE else 1]
        merge.mine = _complete_stage(merge.mine, name, stage)
        merge.theirs = _complete_stage(merge.theirs, name, stage)
    return merge


def _complete_stage(document: Any, name: str, stage: Any) -> Any:
    """Return a pipeline with a stage that its connections name, or without these connections."""
    completed = copy.deepcopy(document)  # it has parts of the documents that were merged
    config = completed["config"]
    if stage is not ABSENT:
        config.setdefault("stages", []).append(stage)
        return completed
    config["connections"] = [
        each
        for each in _get_at(completed, _CONNECTIONS)
        if not isinstance(each, dict) or name not in (each.get("from"), each.get("to"))
    ]
    return completed


def _index_stages(document: Any) -> dict[str, Any]:
    stages = _get_at(document, _STAGES)
    return {name: stage for stage in stages if (name := get_stage_name(stage)) is not None}


def _get_at(document: Any, path: tuple[str, ...]) -> list[Any]:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, list) else []


def _list_loose_ends(document: Any) -> list[str]:
    """Return the names of stages that connections have and that do not exist."""
    connections, stages = _get_at(document, _CONNECTIONS), _index_stages(document)
    ends = [
        each.get(key) for each in connections if isinstance(each, dict) for key in ("from", "to")
    ]
    return [end for end in dict.fromkeys(ends) if isinstance(end, str) and end not in stages]
