"""The field lineage of pipelines as they are designed: that of a deployed pipeline before its first run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.api.lineage import StageLineage
from localcdap.api.tables import TableShape
from localcdap.engine.messages.dataset_names import list_places
from localcdap.metadata.lineage.pipeline_lineage import PipelineLineage, build_lineage, check_stages
from localcdap.metadata.lineage.pipeline_operations import describe_checks
from localcdap.metadata.lineage.store import LineageStore
from localcdap.pipeline.library.applications import RecordLineage
from localcdap.pipeline.validation.lineage import TracedPipeline, trace_pipeline
from localcdap.pipeline.validation.resolution import ResolvedPipeline
from localcdap.sandbox.plugin_calls import JobRunner
from localcdap.store.store import Transaction

WRONG_LINEAGE = "Invalid Lineage"
"""The type of warnings about operations that a plugin records."""
_ACTION = "The author of the plugin can correct it; records are not affected."


class DesignedLineage:
    """Finds the lineage of pipelines. Threads may share it."""

    def __init__(
        self,
        lineage: LineageStore,
        runner: JobRunner,
        read_tables: Callable[[str], Mapping[str, TableShape]] = lambda _: {},
    ) -> None:
        """Create it.

        :param read_tables: returns the columns of the tables of a namespace, by name.
        """
        self._lineage = lineage
        self._runner = runner
        self._read_tables = read_tables

    def trace(
        self, resolved: ResolvedPipeline, namespace: str
    ) -> tuple[RecordLineage, list[ValidationFailure]]:
        """Find the lineage of a valid pipeline, for a transaction that deploys it, and what is wrong with it.

        Its edges take the place of those that the application had. A run that commits replaces them in turn:
        it knows the values of macros.
        """
        traced, found = self.build(resolved, namespace)

        def record(tx: Transaction, application: str) -> None:
            self._lineage.replace_edges(tx, namespace, application, found.edges, found.places)

        return record, find_lineage_warnings(traced)

    def check(self, resolved: ResolvedPipeline) -> list[ValidationFailure]:
        """Return what is wrong with the lineage that plugins of users record; the shipped ones are tested."""
        return find_lineage_warnings(trace_pipeline(resolved, self._runner, scope="USER"))

    def build(
        self, resolved: ResolvedPipeline, namespace: str
    ) -> tuple[TracedPipeline, PipelineLineage]:
        """Return the lineage of the stages of a pipeline, and of the whole pipeline."""
        tables = partial(self._read_tables, namespace)
        traced = trace_pipeline(resolved, self._runner, tables)
        traced.stages = [
            msgspec.structs.replace(each, places=_list_places(resolved, traced, each, namespace))
            if each.datasets
            else each
            for each in traced.stages
        ]
        return traced, build_lineage(traced.stages, traced.connections, namespace)


def _list_places(
    resolved: ResolvedPipeline, traced: TracedPipeline, stage: StageLineage, namespace: str
) -> list[str]:
    """Return where the data of a source or sink lies, as far as its properties say it without a run."""
    plugin = resolved.stages[stage.stage].plugin
    tables = traced.recorded.get(stage.stage, ())
    return list_places(namespace, plugin.name, plugin.properties, tables)


def find_lineage_warnings(traced: TracedPipeline) -> list[ValidationFailure]:
    """Return a warning for each thing that is wrong with the operations that a stage records."""
    return [
        ValidationFailure(WRONG_LINEAGE, message.strip(), _ACTION, [], stage=stage)
        for stage, check in check_stages(traced.stages).items()
        for message in describe_checks({stage: check})
    ]
