"""Writing repairs into a document, so that everything else of it stays as it is."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

from localcdap.studio.lenient import artifact_json, json_text
from localcdap.studio.model import PipelineDocument
from localcdap.studio.plugins import Repair


def repaired(document: PipelineDocument, repairs: Iterable[Repair]) -> Any:
    """A copy of the document's source in which the repaired stages name their new artifacts."""
    source = copy.deepcopy(document.source)
    by_stage = {repair.stage: repair for repair in repairs}
    if not by_stage:
        return source
    return _inside(source, list(document.config_path), document, by_stage)


def _inside(
    node: Any, path: list[str | int], document: PipelineDocument, repairs: dict[str, Repair]
) -> Any:
    """The node with the configuration at the path repaired; JSON text on the way stays text."""
    if isinstance(node, str):
        return json_text(_inside(json.loads(node), path, document, repairs))
    if path:
        key = path[0]
        node[key] = _inside(node[key], path[1:], document, repairs)
        return node
    for stage in (*document.stages, *document.post_actions):
        repair = repairs.get(stage.name)
        if repair is not None:
            _repair(node, stage.path, repair)
    return node


def _repair(config: Any, path: tuple[str | int, ...], repair: Repair) -> None:
    stage = config
    for key in path:
        stage = stage[key]
    # A stage of CDAP 3.2 is its own plugin.
    plugin = stage.get("plugin") or stage
    plugin["artifact"] = artifact_json(repair.artifact)
