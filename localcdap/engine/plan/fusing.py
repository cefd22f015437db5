"""Which stages run together in one pass through Python."""

from __future__ import annotations

import msgspec

from localcdap.engine.plan.flow import AGGREGATOR, Flow, Stage, Stream


class Group(msgspec.Struct):
    """Stages of record or batch grain that run in one pass."""

    feeds: list[Stream]
    """What comes in, united; all of other stages."""
    stages: list[str]
    """In topological order."""
    grouped: bool = False
    """Whether the first stage is an aggregator; it has its group's feed to itself."""


def fuse(flow: Flow, in_python: set[str]) -> list[Group]:
    """The passes of a pipeline.

    A stage joins the pass that all of its inputs come from, or the pass that is fed by the same streams;
    else it begins a new one.

    :param in_python: names of the stages of record or batch grain.
    """
    groups: list[Group] = []
    home: dict[str, Group] = {}
    for stage in flow.stages:
        if stage.name not in in_python:
            continue
        streams = flow.inputs(stage.name)
        group = None if stage.type == AGGREGATOR else _fitting(streams, groups, home)
        if group is None:
            group = Group(streams, [], grouped=stage.type == AGGREGATOR)
            groups.append(group)
        group.stages.append(stage.name)
        home[stage.name] = group
    return groups


def _fitting(streams: list[Stream], groups: list[Group], home: dict[str, Group]) -> Group | None:
    homes = [home.get(stream.stage) for stream in streams]
    if homes and homes[0] is not None and all(h is homes[0] for h in homes):
        return homes[0]
    return next((g for g in groups if g.feeds == streams and not g.grouped), None)


def inside(group: Group, flow: Flow, stage: Stage) -> list[Stream]:
    """The streams that a stage reads within its pass: the feed, or those of other members."""
    streams = flow.inputs(stage.name)
    return [group.feeds[0]] if streams == group.feeds else streams


def outlets(group: Group, flow: Flow) -> list[Stream]:
    """The streams of a pass that stages outside of it read."""
    members = set(group.stages)
    found: dict[Stream, None] = {}
    for stage in flow.stages:
        if stage.name not in members:
            for stream in flow.inputs(stage.name):
                if stream.stage in members:
                    found[stream] = None
    return list(found)
