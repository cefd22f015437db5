"""Configures plugins and runs those of record grain, without any engine."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from localcdap.api import FailureCollector, Plugin, Record, Schema, StageConfigurer
from localcdap.api.failures import ValidationFailure
from localcdap.engine.tasks.context import StageContextData, WorkerStageContext
from localcdap.testing import StageTester


def record(name: str = "rec", /, **fields: Schema) -> Schema:
    return Schema.record(name, fields.items())


def configure(
    cls: type[Plugin],
    properties: Mapping[str, str],
    *inputs: Schema | None,
    macros: Sequence[str] = (),
    named: Mapping[str, Schema | None] | None = None,
) -> StageConfigurer:
    """The stage after configuring; inputs are called ``in0``, ``in1`` … unless they are named."""
    schemas = named if named is not None else {f"in{i}": s for i, s in enumerate(inputs)}
    stage = StageConfigurer("stage", schemas)
    config = cls.Config.build(properties, stage.failures, macros)
    cls(config).configure(stage)
    return stage


def messages(stage: StageConfigurer) -> list[str]:
    return [failure.message for failure in stage.failures]


def causes(failure: ValidationFailure) -> list[dict[str, str]]:
    return [cause.attributes for cause in failure.causes]


def only_failure(stage: StageConfigurer) -> ValidationFailure:
    (failure,) = stage.failures
    return failure


class Emitted:
    """An emitter that keeps everything."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.errors: list[tuple[Record, int, str]] = []
        self.alerts: list[dict[str, str]] = []
        self.metrics: dict[str, int] = {}
        self.altered: list[tuple[str, int, str]] = []

    def __call__(self, record: Record) -> None:
        self.records.append(record)

    def error(self, record: Record, code: int, message: str, *, dropped: bool = True) -> None:
        self.errors.append((record, code, message))

    def alert(self, payload: Mapping[str, str]) -> None:
        self.alerts.append(dict(payload))


def start(
    cls: type[Plugin],
    properties: Mapping[str, str],
    schema: Schema,
    arguments: Mapping[str, str] | None = None,
) -> tuple[Any, WorkerStageContext]:
    """A plugin of record grain, configured and initialised, with its context."""
    stage = configure(cls, properties, schema)
    assert messages(stage) == []
    facts = StageContextData(
        stage_name="stage",
        namespace="default",
        run_id="run",
        arguments=dict(arguments or {}),
        logical_start_time=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        input_schemas={"in0": schema},
        output_schema=stage.output_schema,
        error_schema=stage.error_schema,
        port_schemas=stage.port_schemas,
    )
    plugin: Any = cls(cls.Config.build(properties, FailureCollector()))
    context = WorkerStageContext(facts)
    context.logger.setLevel(logging.DEBUG)
    plugin.initialize(context)
    return plugin, context


def run(
    cls: type[Plugin],
    properties: Mapping[str, str],
    schema: Schema,
    records: Sequence[Record],
    arguments: Mapping[str, str] | None = None,
) -> Emitted:
    """What a plugin of record grain emits for the records."""
    output = StageTester(cls, properties, schema, arguments=arguments).run(records)
    emitted = Emitted()
    emitted.records, emitted.alerts, emitted.metrics = output.records, output.alerts, output.metrics
    emitted.altered = [(each.change, each.count, each.first) for each in output.altered]
    emitted.errors = [(each["record"], each["code"], each["message"]) for each in output.errors]
    return emitted
