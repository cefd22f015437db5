"""Configurations of CDAP 3: ``source``, ``transforms``, ``sinks`` and ``actions`` become stages.

The rules are those of CDAP 6 ``ETLConfig.convertStages`` and, for 3.2 stages without a ``plugin``
object, of its upgrade from version 0: names get a running number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.document.failures import create_structural_failure
from localcdap.pipeline.document.model import Path
from localcdap.pipeline.document.stages import MovedStage
from localcdap.pipeline.document.values import as_text

_Entry = tuple[Any, Path]


def is_legacy(config: Mapping[str, Any]) -> bool:
    """Return whether the configuration has the parts of CDAP 3 in place of stages."""
    parts = ("source", "sinks", "sink", "transforms")
    return not config.get("stages") and any(config.get(part) for part in parts)


def is_realtime(config: Mapping[str, Any]) -> bool:
    """Return whether a CDAP 3 configuration is one of ``cdap-etl-realtime``, which had ``instances``."""
    return "instances" in config


def upgrade(
    config: Mapping[str, Any], realtime: bool, problems: list[ValidationFailure]
) -> dict[str, Any]:
    """Return the configuration converted to stages, connections and post actions.

    :param problems: receives a failure for a missing source or sink.
    """
    kind = "realtime" if realtime else "batch"
    sources = [(config["source"], ("source",))] if config.get("source") else []
    sinks = _list_entries(config.get("sinks"), "sinks")
    if config.get("sink"):
        sinks.append((config["sink"], ("sink",)))
    if not sources:
        problems.append(
            create_structural_failure("Pipeline does not contain a source.", "Add a source.")
        )
    if not sinks:
        problems.append(
            create_structural_failure("Pipeline does not contain any sinks.", "Add a sink.")
        )
    first = _convert_stages(sources, f"{kind}source", 1)
    middle = _convert_stages(_list_entries(config.get("transforms"), "transforms"), "transform", 2)
    last = _convert_stages(sinks, f"{kind}sink", 2 + len(middle))
    actions = _convert_stages(_list_entries(config.get("actions"), "actions"), "postaction", 1)
    return {
        **config,
        "stages": [*first, *middle, *last],
        "connections": config.get("connections") or _connect_line([*first, *middle], last),
        "postActions": config.get("postActions") or actions,
    }


def _list_entries(value: Any, key: str) -> list[_Entry]:
    return [(e, (key, i)) for i, e in enumerate(value)] if isinstance(value, list) else []


def _convert_stages(entries: Iterable[_Entry], type: str, number: int) -> list[Any]:
    return [_convert_stage(node, path, type, number + i) for i, (node, path) in enumerate(entries)]


def _convert_stage(node: Any, path: Path, type: str, number: int) -> Any:
    if not isinstance(node, Mapping):
        return node
    if isinstance(node.get("plugin"), Mapping):
        return MovedStage({**node, "plugin": {"type": type, **node["plugin"]}}, path)
    name = as_text(node.get("name"))
    stage = {"name": f"{name}.{number}" if name else None, "plugin": {**node, "type": type}}
    return MovedStage(stage, path)


def _connect_line(line: list[Any], ends: list[Any]) -> list[dict[str, Any]]:
    """Return the connections of a line of stages, and those from its last stage to every sink."""
    names = [_get_name(stage) for stage in line]
    pairs = list(itertools.pairwise(names))
    pairs += [(names[-1], _get_name(sink)) for sink in ends] if names else []
    return [{"from": a, "to": b} for a, b in pairs if a and b]


def _get_name(stage: Any) -> str | None:
    return as_text(stage.get("name")) if isinstance(stage, Mapping) else None
