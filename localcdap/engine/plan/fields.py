"""Which fields of a stream are needed, so that others are not even read."""

from __future__ import annotations

from collections.abc import Mapping

from localcdap.api.plugin import BatchJoiner, Plugin
from localcdap.api.schema import Schema
from localcdap.engine.plan.flow import Flow, Stage, Stream, configurer


def read_fields(plugin: Plugin, stage: Stage) -> dict[str, list[str]]:
    """The fields that a stage reads of each of its input stages, in schema order."""
    wanted: dict[str, list[str] | None] = {}
    if isinstance(plugin, BatchJoiner):
        wanted = dict(plugin.input_fields_by_stage(configurer(stage)) or {})
    else:
        ask = getattr(plugin, "input_fields", None)
        names = ask(configurer(stage)) if ask is not None else None
        wanted = dict.fromkeys(stage.input_schemas, names)
    return {
        source: _in_order(schema, wanted.get(source))
        for source, schema in stage.input_schemas.items()
    }


def _in_order(schema: Schema, names: list[str] | None) -> list[str]:
    """The names in schema order; at least one field, since rows without columns cannot be counted."""
    if names is None:
        return schema.field_names
    chosen = [name for name in schema.field_names if name in names]
    return chosen or schema.field_names[:1]


def needed_fields(flow: Flow, read: Mapping[str, dict[str, list[str]]]) -> dict[Stream, list[str]]:
    """The fields of each stream that some reader needs, in schema order.

    :param read: by stage, what :func:`read_fields` says.
    """
    needed: dict[Stream, list[str]] = {}
    for stage in flow.stages:
        for stream in flow.inputs(stage.name):
            if stream.errors:
                continue
            wanted = read[stage.name].get(stream.stage)
            schema = flow.stage(stream.stage).schema(stream)
            wanted = schema.field_names if wanted is None else wanted
            known = needed.get(stream, [])
            needed[stream] = [n for n in schema.field_names if n in known or n in wanted]
    return needed
