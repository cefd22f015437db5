"""Calls of connectors in a plugin worker.

A worker cannot reach the instance. A connector that asks for rows of the instance ends its call with the
answer that it needs them; the host fetches them and repeats the call.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

import msgspec

from localcdap.api.arrow import RecordCodec
from localcdap.api.connector import (
    DEFAULT_LIMIT,
    BrowseDetail,
    BrowseRequest,
    Connector,
    ConnectorFailure,
    ConnectorSpec,
    FileDatabase,
    PageRequest,
    PipelineOutline,
    PositionedRecords,
    RecordPage,
    RecordSample,
    RecordStream,
    RelatedPlugin,
    SampleRequest,
    SampleType,
    SpecificationRequest,
)
from localcdap.api.errors import (
    BadRequestError,
    InvalidStageError,
    LocalcdapError,
    PluginError,
    StageError,
)
from localcdap.api.failures import FailureCollector
from localcdap.api.locations import Locations
from localcdap.api.record_json import decode_json_records
from localcdap.api.schema import Schema
from localcdap.api.stage import Record, StageConfigurer
from localcdap.artifacts.loading import load_plugin, to_plugin_error
from localcdap.artifacts.model import PluginRef
from localcdap.sandbox.plugin_calls import emit_errors, read_arrow_table
from localcdap.sandbox.record_samples import take_page, take_sample

_T = TypeVar("_T")
_SENT: Final = "send-to-error exp:{{ {} }}"


class ConnectorAction(enum.Enum):
    """What a connector does."""

    TEST = "test"
    BROWSE = "browse"
    SAMPLE = "sample"
    PAGE = "page"
    SPECIFY = "specify"


class WantedStage(msgspec.Struct, frozen=True):
    """What a connector asks for of pipelines or runs: records of a stage, the stages of one, or all."""

    of_runs: bool
    pipeline: str | None = None
    """The name of a deployed pipeline, or the id of a run."""
    stage: str | None = None
    port: str | None = None
    arguments: tuple[tuple[str, str], ...] = ()
    """Runtime arguments of a deployed pipeline."""


class WantedRows(msgspec.Struct, frozen=True):
    """What a connector asks the instance for: rows of a source, a stage or a table, or the names of all
    tables.
    """

    table: str | None = None
    source: str | None = None
    """The name of a batch source."""
    properties: tuple[tuple[str, str], ...] = ()
    schema: str | None = None
    """That of the source, as JSON."""
    limit: int = 0
    stage: WantedStage | None = None


class GivenRows(msgspec.Struct):
    """What the instance gives."""

    wanted: WantedRows
    tables: dict[str, int | None] = {}
    arrow: bytes = b""
    """Rows of a table, as an Arrow stream."""
    records: list[Any] | None = None
    """Records of a source or a stage, as JSON."""
    pipelines: list[PipelineOutline] = []
    schema: Schema | None = None
    total: int | None = None
    is_sampled: bool = False


class ConnectorRequest(msgspec.Struct):
    """A call of a connector."""

    plugin: PluginRef
    properties: dict[str, str]
    action: ConnectorAction
    namespace: str
    connection: str
    locations: Locations
    browse: BrowseRequest = BrowseRequest()
    sample: SampleRequest = SampleRequest()
    page: PageRequest = PageRequest()
    specification: SpecificationRequest = SpecificationRequest()
    given: list[GivenRows] = []
    sift: PluginRef | None = None
    """The transform that selects matching and failing records."""
    seconds: float = 5.0
    """How long a sample or a page may read."""


class ConnectorAnswer(msgspec.Struct):
    """The answer of a connector: that of its action, or what it needs first."""

    wants: WantedRows | None = None
    failures: list[ConnectorFailure] = []
    browsed: BrowseDetail | None = None
    sampled: RecordSample | None = None
    page: RecordPage | None = None
    related: list[RelatedPlugin] = []
    schema: Schema | None = None
    sample_types: list[str] = []


class _MissingRows(BaseException):
    """Ends the call of a connector that asks for rows which were not given; the host repeats the call.

    It is not an Exception, because the code of the connector must not catch it.
    """

    def __init__(self, wanted: WantedRows) -> None:
        super().__init__(wanted)
        self.wanted: Final = wanted


def call_connector(request: ConnectorRequest) -> ConnectorAnswer:
    """Call a connector in this process.

    :raises BadRequestError: when a property, a path or the request is wrong.
    :raises NotFoundError: when there is nothing at the path.
    :raises PluginError: when the connector raised, or did not return an answer.
    :raises MemoryError: when it takes more memory than there is.
    """
    ref = request.plugin
    failures = FailureCollector(ref.name)
    is_test = request.action is ConnectorAction.TEST
    context = _Context(request, failures)
    try:
        connector = _make_connector(ref, request.properties, failures)
        if failures:
            if is_test:
                return ConnectorAnswer(failures=_to_failures(failures))
            raise BadRequestError(
                f"Unable to instantiate connector plugin: {'; '.join(f.message for f in failures)}",
                "Correct the properties of the connection.",
            )
        assert connector is not None
        return _ACTIONS[request.action](connector, context, request)
    except _MissingRows as missing:
        return ConnectorAnswer(wants=missing.wanted)
    except (MemoryError, PluginError):
        raise
    except (StageError, InvalidStageError) as error:
        if is_test:
            return ConnectorAnswer(failures=[_to_failure(error)])
        raise BadRequestError(error.message, error.corrective_action) from None
    except LocalcdapError as error:
        if is_test:
            return ConnectorAnswer(failures=[_to_failure(error)])
        raise
    except (Exception, SystemExit) as error:
        raise to_plugin_error(f"Connector '{ref.name}'", error, Path(ref.path)) from error
    finally:
        context.close()


def _make_connector(
    ref: PluginRef, properties: dict[str, str], failures: FailureCollector
) -> Connector | None:
    """Return the connector; None when there are failures."""
    cls = load_plugin(ref)
    config = cls.Config.build(properties, failures)
    if failures:
        return None
    connector = cls(config)
    stage = StageConfigurer(ref.name, {})
    connector.configure(stage)
    for each in stage.failures:
        failures.add(each.message, each.corrective_action).with_config_property(each.field or "")
    return cast(Connector, connector)


def _test(connector: Connector, context: _Context, _request: ConnectorRequest) -> ConnectorAnswer:
    connector.test(context)
    return ConnectorAnswer(failures=_to_failures(context.failures))


def _browse(connector: Connector, context: _Context, request: ConnectorRequest) -> ConnectorAnswer:
    wanted = request.browse
    found = _check_answer(connector.browse(context, wanted), BrowseDetail, context)
    entities = found.entities
    if wanted.search:
        entities = [each for each in entities if wanted.search.lower() in each.name.lower()]
        found.total_count = len(entities)
    found.total_count = max(found.total_count, len(entities))
    found.entities = entities[: DEFAULT_LIMIT if wanted.limit is None else max(0, wanted.limit)]
    headers = [name for each in found.entities for name in each.properties]
    found.property_headers = found.property_headers or list(dict.fromkeys(headers))
    return ConnectorAnswer(browsed=found)


def _sample(connector: Connector, context: _Context, request: ConnectorRequest) -> ConnectorAnswer:
    wanted = request.sample
    stream = _check_answer(connector.read(context, wanted), RecordStream, context)

    def sift(schema: Schema, records: list[Record]) -> list[Record]:
        assert request.sift is not None
        properties = _build_sift(wanted, request.sift)
        return emit_errors(request.sift, request.namespace, properties, schema, records)

    sampled = take_sample(stream, wanted, request.seconds, sift)
    return ConnectorAnswer(sampled=sampled, sample_types=list(connector.sample_types))


def _read_page(
    connector: Connector, context: _Context, request: ConnectorRequest
) -> ConnectorAnswer:
    stream = connector.read_page(context, request.page)
    if stream is None:
        return ConnectorAnswer()
    _check_answer(stream, PositionedRecords, context)
    return ConnectorAnswer(page=take_page(stream, request.page, request.seconds))


def _specify(connector: Connector, context: _Context, request: ConnectorRequest) -> ConnectorAnswer:
    wanted = request.specification
    found = _check_answer(connector.specify(context, wanted), ConnectorSpec, context)
    related = [
        each
        for each in found.related_plugins
        if (wanted.plugin_name or each.name).lower() == each.name.lower()
        and (wanted.plugin_type or each.type).lower() == each.type.lower()
    ]
    return ConnectorAnswer(
        related=related, schema=found.schema, sample_types=list(connector.sample_types)
    )


_ACTIONS: Final = {
    ConnectorAction.TEST: _test,
    ConnectorAction.BROWSE: _browse,
    ConnectorAction.SAMPLE: _sample,
    ConnectorAction.PAGE: _read_page,
    ConnectorAction.SPECIFY: _specify,
}


def _check_answer(answer: object, expected: type[_T], context: _Context) -> _T:
    if not isinstance(answer, expected):
        raise PluginError(
            f"Connector '{context.plugin}' returned a {type(answer).__name__} instead of a "
            f"{expected.__name__}.",
            "Correct the connector.",
        )
    return answer


def _build_sift(request: SampleRequest, sift: PluginRef) -> dict[str, str]:
    """Return the properties with which Wrangler gives the wanted records to its error port."""
    directives = [each.name for each in sift.uses if each.type == "directive"]
    if request.sampling_type is SampleType.MATCHING:
        recipe, mode = _SENT.format(request.properties["condition"]), "skip-error"
    else:
        recipe, mode = request.properties["recipe"], "send-to-error-port"
    return {"directives": recipe, "udd": ",".join(directives), "field": "*", "on-error": mode}


class _Context:
    """The :class:`localcdap.api.connector.ConnectorContext` of one call."""

    def __init__(self, request: ConnectorRequest, failures: FailureCollector) -> None:
        self.plugin: Final = request.plugin.name
        self.connection: str = request.connection
        self.namespace: str = request.namespace
        self.failures: FailureCollector = failures
        self.locations: Locations = request.locations
        self._given = {each.wanted: each for each in request.given}
        self._opened: list[FileDatabase] = []

    def resolve_path(self, path: str) -> str:
        return self.locations.resolve(path)

    def list_tables(self) -> Mapping[str, int | None]:
        return self._get(WantedRows()).tables

    def read_table(self, table: str, request: SampleRequest) -> RecordStream:
        given = self._get(WantedRows(table=table, limit=request.limit))
        found = read_arrow_table(given.arrow)
        schema = given.schema
        assert schema is not None
        codec = RecordCodec(schema)
        return RecordStream(
            (record for batch in found.to_batches() for record in codec.decode(batch)),
            schema,
            given.total,
            is_sampled=given.is_sampled,
        )

    def read_source(
        self, plugin: str, properties: Mapping[str, str], limit: int, schema: Schema | None = None
    ) -> RecordStream:
        document = str(schema) if schema is not None else None
        wanted = WantedRows(
            source=plugin,
            properties=tuple(sorted(properties.items())),
            schema=document,
            limit=limit,
        )
        given = self._get(wanted)
        assert given.schema is not None
        records = decode_json_records(given.schema, given.records or [], f"source {plugin}")
        return RecordStream(records, given.schema, given.total)

    def list_pipelines(self) -> list[PipelineOutline]:
        return self._get(WantedRows(stage=WantedStage(of_runs=False))).pipelines

    def list_runs(self) -> list[PipelineOutline]:
        return self._get(WantedRows(stage=WantedStage(of_runs=True))).pipelines

    def describe_pipeline(self, name: str, *, is_run: bool = False) -> PipelineOutline:
        return self._get(WantedRows(stage=WantedStage(is_run, name))).pipelines[0]

    def read_stage(
        self,
        pipeline: str,
        stage: str,
        limit: int,
        *,
        port: str | None = None,
        is_run: bool = False,
        arguments: Mapping[str, str] = MappingProxyType({}),
    ) -> RecordStream:
        wanted = WantedStage(is_run, pipeline, stage, port, tuple(sorted(arguments.items())))
        given = self._get(WantedRows(stage=wanted, limit=limit))
        assert given.schema is not None
        records = decode_json_records(given.schema, given.records or [], f"stage {stage}")
        return RecordStream(records, given.schema, given.total)

    def open_duckdb(self, path: str) -> FileDatabase:
        from localcdap.store.database_copies import OpenedDatabase

        opened = OpenedDatabase(path)
        self._opened.append(opened)
        return opened

    def close(self) -> None:
        for each in self._opened:
            each.close()

    def _get(self, wanted: WantedRows) -> GivenRows:
        given = self._given.get(wanted)
        if given is None:
            raise _MissingRows(wanted)
        return given


def _to_failures(failures: FailureCollector) -> list[ConnectorFailure]:
    return [ConnectorFailure(f.message, f.corrective_action, f.field or None) for f in failures]


def _to_failure(error: LocalcdapError) -> ConnectorFailure:
    return ConnectorFailure(error.message, error.corrective_action)
