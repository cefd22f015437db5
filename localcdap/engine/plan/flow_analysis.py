"""Which stages run together in one pass through Python, and which fields of a stream are needed at all."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from localcdap.api.plugin import BatchJoiner, Plugin
from localcdap.api.schema import Schema
from localcdap.engine.messages.flow import AGGREGATOR, Flow, Stage, Stream, create_configurer


class PassGroup(msgspec.Struct):
    """Stages of record or batch grain that run in one pass."""

    feeds: list[Stream]
    """The streams of other stages whose union is the input of the pass."""
    stages: list[str]
    """In topological order."""
    grouped: bool = False
    """Whether the first stage is an aggregator; no other stage reads the feeds then."""


def fuse_stages(flow: Flow, in_python: set[str]) -> list[PassGroup]:
    """Return the passes of a pipeline.

    A stage joins the pass that all of its inputs come from, or the pass that is fed by the same streams;
    otherwise it starts a new one. A stage with expectations is the last one of its pass: Spark checks them.

    :param in_python: names of the stages of record or batch grain.
    """
    groups: list[PassGroup] = []
    group_of: dict[str, PassGroup] = {}
    for stage in flow.stages:
        if stage.name not in in_python:
            continue
        streams = flow.list_inputs(stage.name)
        unchecked = {k: v for k, v in group_of.items() if not flow.get_stage(k).expectations}
        group = None if stage.type == AGGREGATOR else _find_group(streams, groups, unchecked)
        if group is None:
            group = PassGroup(streams, [], grouped=stage.type == AGGREGATOR)
            groups.append(group)
        group.stages.append(stage.name)
        group_of[stage.name] = group
    return groups


def _find_group(
    streams: list[Stream], groups: list[PassGroup], group_of: dict[str, PassGroup]
) -> PassGroup | None:
    sources = [group_of.get(stream.stage) for stream in streams]
    if sources and sources[0] is not None and all(group is sources[0] for group in sources):
        return sources[0]
    return next((g for g in groups if g.feeds == streams and not g.grouped), None)


def list_inputs_in_pass(group: PassGroup, flow: Flow, stage: Stage) -> list[Stream]:
    """Return the streams that a stage reads within its pass: the feed, or those of other members."""
    streams = flow.list_inputs(stage.name)
    return [group.feeds[0]] if streams == group.feeds else streams


def list_outlets(group: PassGroup, flow: Flow) -> list[Stream]:
    """Return the streams of a pass that stages outside of it read; error records come last."""
    members = set(group.stages)
    found: dict[Stream, None] = {}
    for stage in flow.stages:
        if stage.name not in members:
            for stream in flow.list_inputs(stage.name):
                if stream.stage in members:
                    found[stream] = None
    return sorted(found, key=lambda stream: stream.errors)


def list_read_fields(plugin: Plugin, stage: Stage) -> dict[str, list[str]]:
    """Return the fields that a stage reads of each of its input stages, in schema order."""
    wanted: dict[str, list[str] | None] = {}
    if isinstance(plugin, BatchJoiner):
        wanted = dict(plugin.input_fields_by_stage(create_configurer(stage)) or {})
    else:
        input_fields = getattr(plugin, "input_fields", None)
        names = input_fields(create_configurer(stage)) if input_fields is not None else None
        wanted = dict.fromkeys(stage.input_schemas, names)
    return {
        source: _order_fields(schema, wanted.get(source))
        for source, schema in stage.input_schemas.items()
    }


def _order_fields(schema: Schema, names: list[str] | None) -> list[str]:
    """Return the names in schema order; at least one, since rows without columns cannot be counted."""
    if names is None:
        return schema.field_names
    chosen = [name for name in schema.field_names if name in names]
    return chosen or schema.field_names[:1]


def find_needed_fields(
    flow: Flow, read: Mapping[str, Mapping[str, list[str]]]
) -> dict[Stream, list[str]]:
    """Return the fields of each stream that at least one reader needs, in schema order.

    :param read: by stage, the result of :func:`list_read_fields`.
    """
    needed: dict[Stream, list[str]] = {}
    for stage in flow.stages:
        for stream in flow.list_inputs(stage.name):
            if stream.errors:
                continue
            wanted = read[stage.name].get(stream.stage)
            schema = flow.get_stage(stream.stage).get_schema(stream)
            wanted = schema.field_names if wanted is None else wanted
            known = needed.get(stream, [])
            needed[stream] = [n for n in schema.field_names if n in known or n in wanted]
    return needed
