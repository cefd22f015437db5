"""The stage tester: configures and runs one plugin in the process of the test, without Spark.

Runs actions, post actions, conditions and alert publishers outside of a pipeline run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.control import (
    Action,
    Alert,
    AlertPublisher,
    Condition,
    PostAction,
    SparkProgram,
    StageStatistics,
)
from localcdap.api.errors import BadRequestError, StageError
from localcdap.api.failures import ValidationFailure
from localcdap.api.lineage import StageLineage
from localcdap.api.locations import Locations
from localcdap.api.plugin import (
    BatchAggregator,
    ErrorTransform,
    Grain,
    Plugin,
    SplitterTransform,
    Transform,
)
from localcdap.api.schema import Schema
from localcdap.api.stage import Record
from localcdap.api.tables import CreatedTable, Lookup, TableResult
from localcdap.engine.messages.flow import Stage, create_plugin
from localcdap.engine.tasks.context import CountingMetrics, WorkerStageContext
from localcdap.pipeline.validation.stage_configuration import ConfiguredStage
from localcdap.sandbox.stage_configuration import LineageRequest, trace_stage
from localcdap.testing.records import (
    FakePreparationContext,
    GivenMetadata,
    StageOutput,
    TableData,
    build_stage_data,
    run_records,
)
from localcdap.testing.references import in_memory_ref, raise_failures, validate_stage

Statistics = Mapping[str, StageStatistics]
GivenTopics: TypeAlias = dict[str, list[Any]]
"""The messages of topics: those of the run's namespace by name, others by ``namespace:name``."""


class FakeControlContext(WorkerStageContext):
    """A :class:`localcdap.api.control.PostActionContext`, which fits every control stage."""

    def __init__(
        self,
        stage: Stage,
        arguments: dict[str, str],
        locations: Locations,
        statistics: Statistics,
        metadata: GivenMetadata,
        *,
        succeeded: bool = True,
        topics: GivenTopics | None = None,
    ) -> None:
        super().__init__(build_stage_data(stage, arguments))
        self.pipeline = "test"
        self.stage_statistics: Statistics = dict(statistics)
        self.succeeded = succeeded
        self.is_remote = False
        self.output: Final = StageOutput()
        self.preparation: Final = FakePreparationContext(
            build_stage_data(stage, arguments), metadata, self.output
        )
        self._locations: Final = locations
        self._topics: Final = topics
        self.metrics = self.counting = CountingMetrics()

    @property
    def transactions(self) -> TransactionRunner:
        raise self.fail(
            "there are no datasets here.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )

    def resolve_path(self, path: str) -> str:
        return self._locations.resolve(path)

    def fail(self, message: str, corrective_action: str | None = None) -> Exception:
        text = f"Stage '{self.stage_name}': {message}"
        return StageError(text, corrective_action, stage=self.stage_name)

    def set_argument(self, name: str, value: str) -> None:
        self.output.arguments[name] = value
        self.arguments = {**self.arguments, name: value}

    def lookup(self, table: str) -> Lookup:
        raise self.fail(
            f"lookups in table '{table}' are not available here.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )

    def run_sql(
        self,
        statements: Sequence[str],
        changes: Sequence[str] = (),
        makes: Sequence[CreatedTable] = (),
    ) -> TableResult:
        raise self.fail(
            f"there are no tables here for {len(statements)} statements.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )

    def has_topic(self, name: str, namespace: str | None = None) -> bool:
        return self._get_key(name, namespace) in self._get_topics()

    def create_topic(self, name: str) -> None:
        self._get_topics().setdefault(name, [])

    def publish_messages(
        self, topic: str, payloads: Sequence[Any], namespace: str | None = None
    ) -> None:
        key, topics = self._get_key(topic, namespace), self._get_topics()
        if key not in topics:
            raise self.fail(f"there is no topic '{key}'.", "Create it.")
        topics[key] += [msgspec.to_builtins(payload) for payload in payloads]

    def _get_key(self, name: str, namespace: str | None) -> str:
        return name if namespace in (None, self.namespace) else f"{namespace}:{name}"

    def _get_topics(self) -> GivenTopics:
        if self._topics is None:
            raise self.fail("there are no topics here.", "Give them as 'topics'.")
        return self._topics


def publish(
    cls: type[Plugin], stage: Stage, context: FakeControlContext, alerts: Iterable[Alert]
) -> StageOutput:
    """Have an alert publisher publish alerts."""
    plugin = create_plugin(cls, stage.name, stage.properties)
    if not isinstance(plugin, AlertPublisher):
        raise BadRequestError(f"{cls.__name__} is not an alert publisher.", "Use 'run', or 'act'.")
    plugin.prepare_run(context.preparation)
    try:
        plugin.initialize(context)
        plugin.publish(iter(alerts))
    finally:
        plugin.destroy()
    context.output.metrics = dict(context.counting.counts)
    return context.output


def act(cls: type[Plugin], stage: Stage, context: FakeControlContext) -> StageOutput:
    """Run an action, or a post action when its run condition is met."""
    plugin = create_plugin(cls, stage.name, stage.properties)
    plugin.prepare_run(context.preparation)
    if isinstance(plugin, Action) or (
        isinstance(plugin, PostAction) and plugin.should_run(context.succeeded)
    ):
        plugin.run(context)
    elif not isinstance(plugin, PostAction):
        raise BadRequestError(f"{cls.__name__} is not an action.", "Use 'run', or 'decide'.")
    context.output.metrics = dict(context.counting.counts)
    return context.output


def decide(cls: type[Plugin], stage: Stage, context: FakeControlContext) -> bool:
    """Return which branch a condition selects."""
    plugin = create_plugin(cls, stage.name, stage.properties)
    if not isinstance(plugin, Condition):
        raise BadRequestError(f"{cls.__name__} is not a condition.", "Use 'run', or 'act'.")
    plugin.prepare_run(context.preparation)
    return bool(plugin.decide(context))


Inputs = Schema | Mapping[str, Schema | None] | None
NAME: Final = "stage"
"""The name of the stage."""
_INPUT: Final = "input"


class StageTester:
    """A configured stage; its failures say what is wrong with it.

    >>> stage = StageTester(Shout, {"field": "nmae"}, PEOPLE)     # doctest: +SKIP
    >>> stage.problems                                            # doctest: +SKIP
    ["field: Field 'nmae' does not exist."]

    :param plugin: the class, which may be defined inside a function.
    :param properties: the properties as in a pipeline document, with macros.
    :param inputs: the schema of the only input stage, ``input``, or schemas by input stage, None for an
        unknown schema. None for a source.
    :param arguments: the values of macros. As in the studio, a macro without a value stays unevaluated.
    :param ports: the connected ports of a splitter.
    :param directory: the folder that relative paths are relative to; when given, ``configure_connected`` is
        called too.
    :param locations: the locations of foreign paths, as ``[locations]`` in the settings; used with
        ``directory``.
    :param tables: tables by name; when given, ``configure_connected`` is called too.
    :param metadata: the metadata of entities that ``prepare_run`` and ``initialize`` read.
    """

    def __init__(
        self,
        plugin: type[Plugin],
        properties: Mapping[str, str] | None = None,
        inputs: Inputs = None,
        *,
        arguments: Mapping[str, str] | None = None,
        ports: Sequence[str] = (),
        directory: Path | None = None,
        locations: Mapping[str, str] | None = None,
        tables: Mapping[str, TableData] | None = None,
        metadata: GivenMetadata | None = None,
    ) -> None:
        self._plugin = plugin
        self._properties = dict(properties or {})
        self._inputs = {_INPUT: inputs} if isinstance(inputs, Schema) else dict(inputs or {})
        self._arguments = dict(arguments or {})
        self._ports = tuple(ports)
        base = directory or (None if tables is None else Path.cwd())
        self._locations = Locations(dict(locations or {}), str(base.absolute())) if base else None
        self._tables = dict(tables or {})
        self._metadata = dict(metadata or {})
        outcome = self._configure(runtime=False)
        self.failures: list[ValidationFailure] = outcome.failures
        self.warnings: list[ValidationFailure] = outcome.result.warnings
        self.output_schema: Schema | None = outcome.result.output_schema
        """None for a splitter and a sink, and when it is not known before the run."""
        self.error_schema: Schema | None = outcome.result.error_schema
        """None when error records have the schema of the input."""
        self.port_schemas: dict[str, Schema] = outcome.result.port_schemas
        """Schemas by port of a splitter."""
        self.pipeline_properties: dict[str, str] = outcome.result.pipeline_properties

    @property
    def problems(self) -> list[str]:
        """The failures as short texts: ``property: message``, or only the message."""
        return [f"{f.field}: {f.message}" if f.field else f.message for f in self.failures]

    def trace(self) -> StageLineage:
        """Return the field lineage that the plugin records, or what is assumed where it records none.

        :raises InvalidPipelineError: when the stage has failures.
        """
        outcome = self._configure(runtime=False)
        raise_failures(outcome.failures)
        assert outcome.request is not None
        result = outcome.result
        schemas = (result.output_schema, result.error_schema, result.port_schemas)
        tables = {name: table.shape for name, table in self._tables.items()}
        return trace_stage(LineageRequest(outcome.request, *schemas, tables))

    def run(self, records: Sequence[Record]) -> StageOutput:
        """Run records through the stage, and check its output against the schemas.

        The plugin prepares the run, is initialized before the records and destroyed after them, gets the
        fields that it declares to read, and cleans up after the run. Its exceptions are raised.

        :param records: for an error transform each is a dict with ``record``, ``code`` and ``message``, and
            optionally ``stage``.
        :raises InvalidPipelineError: when the stage has failures, or a macro has no value.
        :raises StageError: when a record does not fit its schema; the message names the field.
        :raises BadRequestError: when the plugin works on DataFrames, or an input schema is not known.
        """
        _require_records(self._plugin)
        stage = self._build_stage()
        if not stage.input_schemas or len(stage.input_schemas) < len(self._inputs):
            raise BadRequestError(
                "The stage cannot be run without the schema of its input.", "Set it as 'inputs'."
            )
        return run_records(
            self._plugin, stage, records, self._arguments, self._tables, self._metadata
        )

    def act(self, statistics: Statistics | None = None, *, succeeded: bool = True) -> StageOutput:
        """Run an action, or a post action when its run condition is met. Its exceptions are raised.

        :param statistics: the numbers of records by earlier stage.
        :param succeeded: whether the run has succeeded, for a post action.
        :returns: the output, with the arguments that the action has set.
        :raises InvalidPipelineError: when the stage has failures, or a macro has no value.
        :raises BadRequestError: when the plugin is not an action.
        """
        stage = self._build_stage()
        return act(self._plugin, stage, self._build_context(stage, statistics, succeeded=succeeded))

    def publish(
        self,
        alerts: Sequence[Mapping[str, str | None]],
        *,
        stage: str = "alarm",
        topics: GivenTopics | None = None,
    ) -> StageOutput:
        """Have an alert publisher publish alerts, as at the end of a run. Its exceptions are raised.

        :param alerts: their payloads.
        :param stage: the name of the stage that has emitted them.
        :param topics: the topics of the instance with their messages, to which new ones are added; without
            it there are no topics.
        :raises InvalidPipelineError: when the stage has failures, or a macro has no value.
        :raises BadRequestError: when the plugin is not an alert publisher.
        """
        built = self._build_stage()
        context = self._build_context(built, None, topics=topics)
        return publish(
            self._plugin, built, context, (Alert(stage, dict(payload)) for payload in alerts)
        )

    def decide(self, statistics: Statistics | None = None) -> bool:
        """Return which branch a condition selects. Its exceptions are raised.

        :param statistics: the numbers of records by earlier stage.
        :raises InvalidPipelineError: when the stage has failures, or a macro has no value.
        :raises BadRequestError: when the plugin is not a condition.
        """
        stage = self._build_stage()
        return decide(self._plugin, stage, self._build_context(stage, statistics))

    def _build_stage(self) -> Stage:
        """Return the stage with all macros evaluated."""
        outcome = self._configure(runtime=True)
        raise_failures(outcome.failures)
        assert outcome.request is not None
        return Stage(
            NAME,
            outcome.request.plugin,
            outcome.request.properties,
            {name: schema for name, schema in self._inputs.items() if schema is not None},
            outcome.result.output_schema,
            outcome.result.error_schema,
            outcome.result.port_schemas,
        )

    def _build_context(
        self,
        stage: Stage,
        statistics: Statistics | None,
        *,
        succeeded: bool = True,
        topics: GivenTopics | None = None,
    ) -> FakeControlContext:
        locations = self._locations or Locations({}, str(Path.cwd()))
        return FakeControlContext(
            stage,
            self._arguments,
            locations,
            statistics or {},
            self._metadata,
            succeeded=succeeded,
            topics=topics,
        )

    def _configure(self, *, runtime: bool) -> ConfiguredStage:
        return validate_stage(
            NAME,
            in_memory_ref(self._plugin),
            self._properties,
            self._inputs,
            ports=self._ports,
            arguments=self._arguments,
            runtime=runtime,
            locations=self._locations,
            find_table=lambda name: table.shape if (table := self._tables.get(name)) else None,
        )


def _require_records(plugin: type[Plugin]) -> None:
    """Check that a plugin works on records or Arrow batches.

    :raises BadRequestError: when it does not.
    """
    kinds: Any = (Transform, SplitterTransform, ErrorTransform, BatchAggregator)
    if issubclass(plugin, kinds) and plugin.grain() in (Grain.RECORD, Grain.BATCH):
        return
    if issubclass(plugin, Action | PostAction | Condition | AlertPublisher):
        raise BadRequestError(
            f"{plugin.__name__}, a {plugin.types[0]}, handles no records.",
            "Use 'decide' for a condition, 'publish' for an alert publisher, 'act' for others.",
        )
    if issubclass(plugin, SparkProgram):
        raise BadRequestError(
            f"{plugin.__name__}, a Spark program, handles no records and needs Spark.",
            "Run its pipeline in an instance: with the fixture cdap_instance.",
        )
    raise BadRequestError(
        f"{plugin.__name__}, a {' or '.join(plugin.types)}, does not work on single records, so it cannot "
        "be run without Spark.",
        "Run it in a pipeline: with the fixture cdap_pipeline, or with run_stage and cdap_spark.",
    )
