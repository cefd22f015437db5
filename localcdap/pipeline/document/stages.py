"""Stages and connections of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from localcdap.api.failures import ValidationFailure
from localcdap.api.pipeline import StageConnection
from localcdap.expectations.rules import KEY, Expectation, read_rules
from localcdap.pipeline.document.failures import create_structural_failure
from localcdap.pipeline.document.model import Path, PluginUse, StageUse
from localcdap.pipeline.document.values import (
    as_properties,
    as_selector,
    as_text,
    describe_kind,
    encode_json,
)

TEMPLATE_MARK: Final = "pluginTemplate"
"""The key under which CDAP's studio stores, in a stage or its plugin, the plugin template in use."""
_NAME_IT = "Give it a name that no other stage has."


def read_stages(
    config: Mapping[str, Any],
    key: str,
    problems: list[ValidationFailure],
    default_type: str = "",
) -> list[StageUse]:
    """Return the stages under a key, in order; what is not a stage is left out and added to ``problems``.

    Stages with the same name and plugin count as one stage (CDAP 6 ``ETLConfig``: a set).

    :param default_type: the plugin type of a stage that does not state one.
    """
    nodes = _read_list(config, key, problems)
    found: dict[tuple[Any, ...], StageUse] = {}
    for index, node in enumerate(nodes):
        path = _get_path(node, key, index)
        stage = _read_stage(node, path, f"{key}[{index}]", problems, default_type)
        if stage is not None:
            use = stage.plugin
            same = (stage.name, use.type, use.name, use.artifact, *sorted(use.properties.items()))
            found.setdefault(same, stage)
    return list(found.values())


def read_stage(node: Any) -> tuple[StageUse | None, list[ValidationFailure]]:
    """Return a single stage, None when it has no name, and what is wrong with its form."""
    problems: list[ValidationFailure] = []
    return _read_stage(node, (), "stage", problems, ""), problems


def _get_path(node: Any, key: str, index: int) -> Path:
    """Return the path of a stage in the configuration; a converted stage knows its original path."""
    return node.path if isinstance(node, MovedStage) else (key, index)


class MovedStage(dict[str, Any]):
    """A converted stage, with its path in the original configuration."""

    def __init__(self, node: Mapping[str, Any], path: Path) -> None:
        super().__init__(node)
        self.path = path


def _read_list(config: Mapping[str, Any], key: str, problems: list[ValidationFailure]) -> list[Any]:
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        problems.append(
            create_structural_failure(
                f"'{key}' must be a list, not {describe_kind(value)}.", "Put it in brackets."
            )
        )
        return []
    return value


def _read_stage(
    node: Any, path: Path, label: str, problems: list[ValidationFailure], default_type: str
) -> StageUse | None:
    if not isinstance(node, Mapping):
        message = f"Invalid stage '{label}': it must be an object, not {describe_kind(node)}."
        problems.append(
            create_structural_failure(message, "Write name and plugin of the stage, or remove it.")
        )
        return None
    name = as_text(node.get("name")) or ""
    if not name:
        message = f"Invalid stage '{label}': name must be specified."
        problems.append(create_structural_failure(message, _NAME_IT))
    raw = node.get("plugin")
    if not isinstance(raw, Mapping):
        message = f"Invalid stage '{name or label}': plugin must be specified."
        action = "Set 'plugin' to an object with name, type and properties."
        problems.append(create_structural_failure(message, action, stage=name or None))
        raw = {}
        plugin = PluginUse("", "", {})
    else:
        plugin = read_plugin(raw, default_type, node)
        _check_plugin(plugin, raw, name or None, problems)
    rules = _read_expectations(node, name or None, problems)
    return StageUse(name, plugin, path, _read_noted_schema(node), rules) if name else None


def _read_expectations(
    node: Mapping[str, Any], stage: str | None, problems: list[ValidationFailure]
) -> tuple[Expectation, ...]:
    rules, found = read_rules(node.get(KEY))
    problems += [
        create_structural_failure(each.message, each.action, stage=stage, property=KEY)
        for each in found
    ]
    return tuple(rules)


def _read_noted_schema(node: Mapping[str, Any]) -> str | None:
    """Return the output schema that CDAP's studio stores: a text, an object, or a list of named schemas."""
    noted = node.get("outputSchema")
    if isinstance(noted, list) and noted and isinstance(noted[0], Mapping):
        noted = noted[0].get("schema")
    if isinstance(noted, Mapping):
        return encode_json(noted)
    return noted if isinstance(noted, str) else None


def read_plugin(
    node: Mapping[str, Any], default_type: str = "", stage: Mapping[str, Any] | None = None
) -> PluginUse:
    """Return the plugin of a stage; name and type are empty where they are missing."""
    marks = [(each or {}).get(TEMPLATE_MARK) for each in (node, stage)]
    return PluginUse(
        type=as_text(node.get("type")) or default_type,
        name=as_text(node.get("name")) or "",
        properties=as_properties(node.get("properties")),
        artifact=as_selector(node.get("artifact")),
        template=next((mark for mark in marks if isinstance(mark, str) and mark), None),
    )


def _check_plugin(
    plugin: PluginUse, raw: Mapping[str, Any], stage: str | None, problems: list[ValidationFailure]
) -> None:
    # CDAP 6 ETLPlugin.validate; properties are not shown, they may hold secrets.
    shown = f"Plugin{{name='{plugin.name}', type='{plugin.type}'}}"
    for key in ("name", "type"):
        if not getattr(plugin, key):
            message = f"Invalid plugin {shown}: {key} must be specified."
            problems.append(
                create_structural_failure(message, f"Set the {key} of the plugin.", stage=stage)
            )
    properties = raw.get("properties")
    if properties is not None and not isinstance(properties, Mapping):
        message = f"Invalid plugin {shown}: properties must be an object, not {describe_kind(properties)}."
        problems.append(
            create_structural_failure(message, "Write them as keys with values.", stage=stage)
        )


def read_connections(
    config: Mapping[str, Any], problems: list[ValidationFailure]
) -> list[StageConnection]:
    """Return the connections in order, each once (CDAP 6 ``ETLConfig``: a set)."""
    found: dict[StageConnection, None] = {}
    for index, node in enumerate(_read_list(config, "connections", problems)):
        if not isinstance(node, Mapping):
            message = f"Invalid connection 'connections[{index}]': it must be an object."
            problems.append(create_structural_failure(message, 'Write it as {"from": …, "to": …}.'))
            continue
        source, target = (as_text(node.get(key)) or "" for key in ("from", "to"))
        if not source or not target:
            missing = "to" if source else "from"
            message = f"Invalid connection {encode_json(node)}: '{missing}' must be specified."
            problems.append(
                create_structural_failure(message, "Name the stage, or remove the connection.")
            )
            continue
        port = as_text(node.get("port")) or None
        found[StageConnection(source, target, port, _read_condition(node.get("condition")))] = None
    return list(found)


def _read_condition(value: Any) -> bool | None:
    """Return the branch of a condition, a boolean or its text in any case; None for anything else."""
    return {"true": True, "false": False}.get((as_text(value) or "").lower())
