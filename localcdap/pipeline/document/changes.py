"""Changes the source of a document in place, so that all other parts stay as they are."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
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


def rename_pipeline(document: PipelineDocument, name: str) -> Any:
    """Return a copy of the document's source in which the pipeline has this name.

    The name replaces the one that :func:`.reader.read_document` found; an envelope without a name gets one,
    a bare configuration without a name stays as it is.
    """
    source = copy.deepcopy(document.source)
    depth = len(document.config_path)
    for length in (*range(depth - 1, -1, -1), depth):
        path = list(document.config_path[:length])
        if _read_at(source, path).get("name") is not None:
            break
    else:
        path = []
        if not depth:
            return source
    return _rewrite_at(source, path, lambda node: node.update(name=name))


def copy_configuration(document: PipelineDocument) -> Any:
    """Return a copy of the decoded configuration; one of CDAP 3 is not converted."""
    return copy.deepcopy(_read_at(document.source, list(document.config_path)))


def _read_at(node: Any, path: Sequence[str | int]) -> Any:
    """Return the node at the path, through JSON text on the way."""
    for key in path:
        node = _decode(node)[key]
    return _decode(node)


def _decode(node: Any) -> Any:
    return json.loads(node) if isinstance(node, str) else node


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
