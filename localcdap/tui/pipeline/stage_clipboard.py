"""Stages as text: copied out of a pipeline and put into this or another one.

The text is JSON as CDAP's studio copies it: ``{"stages": […], "connections": […]}``. A single stage, a
list of stages and a whole pipeline are read too.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.api.pipeline import StageConnection
from localcdap.pipeline.document.values import as_text, decode_json
from localcdap.pipeline.editing.edits import AddStage, CompoundEdit, Connect, Edit
from localcdap.tui.pipeline.connection_rules import find_free_name


def format_stages(
    nodes: Sequence[Mapping[str, Any]], connections: Sequence[StageConnection]
) -> str:
    """Return the text of stages and of the connections among them."""
    names = {as_text(node.get("name")) for node in nodes}
    links = [_link(c) for c in connections if {c.source, c.target} <= names]
    return json.dumps({"stages": list(nodes), "connections": links}, indent=2, ensure_ascii=False)


def parse_stages(text: str, taken: Collection[str]) -> tuple[CompoundEdit, list[str]]:
    """Return the edit that adds copied stages under unused names, and these names.

    :raises BadRequestError: when the text holds no stages.
    """
    try:
        nodes, links = _find_parts(decode_json(text))
    except (LocalcdapError, RecursionError):
        raise _create_empty_error() from None
    if not nodes:
        raise _create_empty_error()
    edits: list[Edit] = []
    names: dict[str, str] = {}
    for node in nodes:
        name = as_text(node.get("name")) or "stage"
        new = find_free_name(name, {*taken, *names.values()})
        names.setdefault(name, new)
        rest = {key: value for key, value in node.items() if key != "id"}
        edits.append(AddStage({**rest, "name": new}))
    for link in links:
        source, target = (as_text(link.get(key)) or "" for key in ("from", "to"))
        if source in names and target in names:
            marks = {key: as_text(link.get(key)) or None for key in ("port", "condition")}
            edits.append(Connect(names[source], names[target], **marks))
    return CompoundEdit(edits), list(names.values())


def _find_parts(value: Any) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Find the stages and connections anywhere in decoded JSON."""
    if isinstance(value, list):
        return [node for node in value if _is_stage(node)], []
    if not isinstance(value, Mapping):
        return [], []
    if "stages" in value:
        nodes, links = value.get("stages"), value.get("connections")
        return list(_list_objects(nodes)), list(_list_objects(links))
    if _is_stage(value):
        return [value], []
    return _find_parts(value.get("config"))


def _is_stage(node: Any) -> bool:
    return isinstance(node, Mapping) and "plugin" in node


def _list_objects(value: Any) -> Iterator[Mapping[str, Any]]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, Mapping):
            yield each


def _link(connection: StageConnection) -> dict[str, str]:
    link = {"from": connection.source, "to": connection.target}
    if connection.branch is None:
        return link
    return link | {"port" if connection.port else "condition": connection.branch}


def _create_empty_error() -> BadRequestError:
    return BadRequestError(
        "There are no stages in the clipboard.", "Copy stages with y, here or in another studio."
    )
