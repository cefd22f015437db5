"""Changes the source of a document in place, so that all other parts stay as they are."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from localcdap.pipeline.document.model import Path, PipelineDocument
from localcdap.pipeline.document.values import encode_json

StageChange = Callable[[dict[str, Any]], None]
"""Changes the node of a stage in place."""


def get_plugin_node(stage: dict[str, Any]) -> dict[str, Any]:
    """Return the node of a stage's plugin; a stage of CDAP 3.2 is itself that node."""
    plugin: dict[str, Any] = stage.get("plugin") or stage
    return plugin


def change_stages(document: PipelineDocument, changes: Mapping[str, StageChange]) -> Any:
    """Return a copy of the document's source with changed stage nodes.

    :param changes: by stage, changes its node in place.
    """
    source = copy.deepcopy(document.source)
    if not changes:
        return source

    def rewrite(config: Any) -> None:
        for stage in (*document.stages, *document.post_actions):
            if stage.name in changes:
                changes[stage.name](_get_node(config, stage.path))

    return _rewrite_at(source, list(document.config_path), rewrite)


def copy_configuration(document: PipelineDocument) -> Any:
    """Return a copy of the decoded configuration; one of CDAP 3 is not converted."""
    found: list[Any] = []
    _rewrite_at(copy.deepcopy(document.source), list(document.config_path), found.append)
    return found[0]


def _rewrite_at(node: Any, path: list[str | int], rewrite: Callable[[Any], None]) -> Any:
    """Return the node with the configuration at the path rewritten; JSON text on the way stays JSON text."""
    if isinstance(node, str):
        return encode_json(_rewrite_at(json.loads(node), path, rewrite))
    if path:
        node[path[0]] = _rewrite_at(node[path[0]], path[1:], rewrite)
    else:
        rewrite(node)
    return node


def _get_node(config: Any, path: Path) -> Any:
    for key in path:
        config = config[key]
    return config
