"""Runs one stage on Spark and collects all its output."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.plugin import Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.artifacts.model import PluginRef
from localcdap.engine.messages.flow import ERROR_TRANSFORM, SINKS, Stage
from localcdap.engine.messages.host import TableLoad
from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.messages.spool import RecordCounts
from localcdap.testing.pipeline import PipelineTester, Tables
from localcdap.testing.references import plugin_ref

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Inputs = Mapping[str, tuple[Schema, Sequence[Record]]]
_STAGE: Final = "stage"
_WITH_ERRORS: Final = ("transform", "batchaggregator", "errortransform")


class StageRun(msgspec.Struct):
    """The output of a stage. Records are in no particular order after a shuffle."""

    output_schema: Schema | None
    records: list[Record]
    errors: list[dict[str, Any]]
    """Error records, each with ``record``, ``code``, ``message`` and ``stage``."""
    ports: dict[str, list[Record]]
    counts: RecordCounts
    """Zeros when counting is off."""
    table_loads: list[TableLoad]
    """The rows that a sink upserts into tables, as directories of Parquet files."""
    altered: list[AlteredValues]
    """The values that the stage altered; those of its code in Python only when counting is on."""


def run_stage(
    spark: SparkSession,
    plugin: type[Plugin] | PluginRef,
    properties: Mapping[str, str] | None = None,
    inputs: Inputs | None = None,
    *,
    directory: Path | None = None,
    locations: Mapping[str, str] | None = None,
    tables: Tables = None,
    arguments: Mapping[str, str] | None = None,
    ports: Sequence[str] | None = None,
    counts: bool = True,
) -> StageRun:
    """Configure a stage, plan it, compare its schema with the propagated one, and run it.

    >>> run = run_stage(spark, Shout, {"field": "name"}, {"in": (PEOPLE, [{"name": "x"}])})  # doctest: +SKIP
    >>> run.records, run.errors, run.counts.out  # doctest: +SKIP

    The stage is called ``stage``.

    :param plugin: a class at the top level of a module, or a reference such as that of
        :func:`localcdap.testing.artifact_ref`.
    :param inputs: schema and records by input stage, in connection order. For an error transform each
        record is a dict with ``record``, ``code`` and ``message``, and the schema is that of ``record``.
    :param directory: the folder that relative paths are relative to; a new temporary one by default.
    :param tables: as for :class:`~localcdap.testing.pipeline.PipelineTester`.
    :param ports: the ports to connect; all by default.
    :raises InvalidPipelineError: when the stage has failures.
    :raises StageError: when the run fails.
    """
    ref = plugin if isinstance(plugin, PluginRef) else plugin_ref(plugin)
    folder = directory or Path(tempfile.mkdtemp(dir=_create_scratch_directory().name))
    pipeline = PipelineTester(
        spark, folder, locations=locations, tables=tables, arguments=arguments
    )
    for source, (schema, records) in (inputs or {}).items():
        add = pipeline.failing if ref.type == ERROR_TRANSFORM else pipeline.source
        add(source, schema, records)
    stage = pipeline.stage(_STAGE, ref, properties, list(inputs or {}), ports=ports or ())
    connected = [] if ref.type in SINKS else list(stage.port_schemas if ports is None else ports)
    sinks = _connect(pipeline, stage, connected)
    totals = pipeline.run(counts=counts)
    return StageRun(
        output_schema=stage.output_schema,
        records=pipeline.read("records") if "records" in sinks else [],
        errors=pipeline.read("errors") if "errors" in sinks else [],
        ports={port: pipeline.read(f"port {port}") for port in connected},
        counts=totals.get(_STAGE, RecordCounts()),
        table_loads=pipeline.table_loads,
        altered=[each for each in pipeline.altered if each.stage == _STAGE],
    )


@functools.cache
def _create_scratch_directory() -> tempfile.TemporaryDirectory[str]:
    """Return the directory for stages without one; it is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="localcdap-test-", ignore_cleanup_errors=True)


def _connect(pipeline: PipelineTester, stage: Stage, ports: list[str]) -> set[str]:
    """Add sinks for all outputs of the stage, and return their names."""
    sinks = set()
    for port in ports:
        pipeline.sink(f"port {port}", f"{stage.name}.{port}")
    if stage.output_schema is not None and stage.type not in SINKS:
        pipeline.sink("records", stage.name)
        sinks.add("records")
    if stage.type in _WITH_ERRORS:
        pipeline.collect_errors("errors", stage.name)
        sinks.add("errors")
    return sinks
