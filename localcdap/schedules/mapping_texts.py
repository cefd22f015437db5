"""Mappings as users type them, on the command line and in the studio.

A mapping says what a run takes from the run that has triggered it, see :mod:`localcdap.schedules.mappings`.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.schedules.mappings import ArgumentMapping, PropertyMapping, TriggerMapping
from localcdap.text import split_pair


def parse_argument_mapping(text: str) -> ArgumentMapping:
    """Return the mapping of ``ARGUMENT=SOURCE``, of an argument of the triggering run.

    :raises BadRequestError: when it is none.
    """
    target, source = _split(text)
    return ArgumentMapping(source, target)


def parse_property_mapping(text: str) -> PropertyMapping:
    """Return the mapping of ``ARGUMENT=STAGE.PROPERTY``, of a property of the triggering pipeline.

    :raises BadRequestError: when it is none.
    """
    target, place = _split(text)
    stage, dot, source = place.rpartition(".")
    if not dot:
        raise BadRequestError(
            f"'{place}' is not a valid property of a stage.", "Write TARGET=STAGE.PROPERTY."
        )
    return PropertyMapping(stage, source, target)


def format_argument_mapping(mapping: ArgumentMapping) -> str | None:
    """Return what :func:`parse_argument_mapping` reads; None when no text says it."""
    target = mapping.target or mapping.source
    if mapping.pipeline_id is not None or not target or mapping.source is None or "=" in target:
        return None
    return f"{target}={mapping.source}"


def format_property_mapping(mapping: PropertyMapping) -> str | None:
    """Return what :func:`parse_property_mapping` reads; None when no text says it."""
    target, source = mapping.target or mapping.source, mapping.source
    if mapping.pipeline_id is not None or mapping.stage_name is None:
        return None
    if not target or source is None or "=" in target or "." in source:
        return None
    return f"{target}={mapping.stage_name}.{source}"


def write_mapping(mapping: TriggerMapping) -> str | None:
    """Return the property of a schedule; None when the mapping is empty."""
    if not mapping.arguments and not mapping.plugin_properties:
        return None
    document: dict[str, list[dict[str, Any]]] = msgspec.to_builtins(mapping)
    return json.dumps(
        {
            kind: [
                {name: value for name, value in each.items() if value is not None}
                for each in entries
            ]
            for kind, entries in document.items()
        }
    )


def _split(text: str) -> tuple[str, str]:
    try:
        return split_pair(text)
    except ValueError as error:
        raise BadRequestError(str(error)) from None
