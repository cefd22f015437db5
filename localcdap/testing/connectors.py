"""The connector tester: a connector in the process of the test, without an instance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from localcdap.api.arrow import RecordCodec
from localcdap.api.connector import (
    MOST_RECORDS,
    BrowseDetail,
    BrowseRequest,
    Connector,
    ConnectorSpec,
    PageRequest,
    PipelineOutline,
    RecordPage,
    RecordSample,
    SampleRequest,
    SpecificationRequest,
    StageOutline,
)
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.api.locations import Locations
from localcdap.api.record_json import encode_json_record
from localcdap.sandbox.connector_calls import (
    ConnectorAction,
    ConnectorAnswer,
    ConnectorRequest,
    GivenRows,
    WantedRows,
    WantedStage,
    call_connector,
)
from localcdap.sandbox.plugin_calls import to_arrow_stream
from localcdap.sandbox.record_samples import check_sample_request
from localcdap.testing.records import TableData
from localcdap.testing.references import in_memory_ref

_Given = TypeVar("_Given")
_NAMESPACE: Final = "default"
_NAME: Final = "connection"


class ConnectorTester:
    """A connector with properties.

    >>> connector = ConnectorTester(Texts, {"folder": "texts"}, directory=tmp_path)  # doctest: +SKIP
    >>> connector.problems, connector.browse("/").entities                           # doctest: +SKIP
    >>> connector.sample("/a.txt", limit=2).records                                  # doctest: +SKIP

    :param plugin: the class, which may be defined inside a function.
    :param directory: the folder that relative paths are relative to.
    :param locations: the locations of foreign paths, as ``[locations]`` in the settings.
    :param tables: what the connector finds as tables of the namespace, by name.
    :param sources: what the sources give that it reads on Spark, by the name of the plugin.
    :param pipelines: what it finds as deployed pipelines: the records of their stages, by pipeline and stage.
    :param runs: the same of runs, by the id of the run.
    """

    def __init__(
        self,
        plugin: type[Connector],
        properties: Mapping[str, str] | None = None,
        *,
        directory: Path | None = None,
        locations: Mapping[str, str] | None = None,
        tables: Mapping[str, TableData] | None = None,
        sources: Mapping[str, TableData] | None = None,
        pipelines: Mapping[str, Mapping[str, TableData]] | None = None,
        runs: Mapping[str, Mapping[str, TableData]] | None = None,
    ) -> None:
        self._plugin = in_memory_ref(plugin)
        self._properties = dict(properties or {})
        base = (directory or Path.cwd()).absolute()
        self._locations = Locations(dict(locations or {}), str(base))
        self._tables = dict(tables or {})
        self._sources = dict(sources or {})
        self._stages = {False: dict(pipelines or {}), True: dict(runs or {})}

    @property
    def problems(self) -> list[str]:
        """Why the connection does not work: ``property: message``, or only the message."""
        failures = self._call(ConnectorAction.TEST).failures
        return [f"{f.property}: {f.message}" if f.property else f.message for f in failures]

    def browse(self, path: str = "/", **request: Any) -> BrowseDetail:
        """Return what is at a path.

        :param request: other fields of :class:`localcdap.api.BrowseRequest`.
        """
        answer = self._call(ConnectorAction.BROWSE, browse=BrowseRequest(path, **request))
        assert answer.browsed is not None
        return answer.browsed

    def sample(self, path: str = "/", **request: Any) -> RecordSample:
        """Return some of the records at a path.

        :param request: other fields of :class:`localcdap.api.SampleRequest`. Samples of matching and failing
            records need an instance.
        """
        wanted = SampleRequest(path, **request)
        check_sample_request(wanted)
        answer = self._call(ConnectorAction.SAMPLE, sample=wanted)
        assert answer.sampled is not None
        return answer.sampled

    def read_pages(self, path: str = "/", limit: int = MOST_RECORDS) -> list[RecordPage]:
        """Return all records at a path in pages, as copies of them are made.

        :param limit: the most records of a page.
        """
        pages: list[RecordPage] = []
        while not pages or not pages[-1].is_last:
            after = pages[-1].after if pages else None
            page = self._call(ConnectorAction.PAGE, page=PageRequest(path, {}, after, limit)).page
            if page is None:
                raise BadRequestError(f"Connector '{self._plugin.name}' gives no pages of records.")
            pages.append(page)
        return pages

    def specify(self, path: str = "/", **request: Any) -> ConnectorSpec:
        """Return the stages that read a path.

        :param request: other fields of :class:`localcdap.api.SpecificationRequest`.
        """
        wanted = SpecificationRequest(path, **request)
        answer = self._call(ConnectorAction.SPECIFY, specification=wanted)
        return ConnectorSpec(answer.related, answer.schema)

    def _call(self, action: ConnectorAction, **requests: Any) -> ConnectorAnswer:
        request = ConnectorRequest(
            self._plugin,
            self._properties,
            action,
            _NAMESPACE,
            _NAME,
            self._locations,
            **requests,
        )
        while True:
            answer = call_connector(request)
            if answer.wants is None:
                return answer
            request.given = [*request.given, self._fetch(answer.wants)]

    def _fetch(self, wanted: WantedRows) -> GivenRows:
        if wanted.table is not None:
            table = _find(self._tables, wanted.table, "table")
            batch = RecordCodec(table.schema).encode([dict(each) for each in table.rows])
            rows, total = to_arrow_stream(batch), len(table.rows)
            return GivenRows(wanted, arrow=rows, schema=table.schema, total=total)
        if wanted.source is not None:
            source = _find(self._sources, wanted.source, "source")
            records = [encode_json_record(each) for each in source.rows][: wanted.limit]
            return GivenRows(wanted, records=records, schema=source.schema, total=len(source.rows))
        if wanted.stage is not None:
            return self._fetch_stages(wanted, wanted.stage)
        return GivenRows(wanted, tables={name: len(t.rows) for name, t in self._tables.items()})

    def _fetch_stages(self, wanted: WantedRows, stage: WantedStage) -> GivenRows:
        known = self._stages[stage.of_runs]
        if stage.pipeline is None:
            found = [_describe(name, {}, stage) for name in known]
            return GivenRows(wanted, pipelines=found)
        stages = _find(known, stage.pipeline, "run" if stage.of_runs else "pipeline")
        if stage.stage is None:
            return GivenRows(wanted, pipelines=[_describe(stage.pipeline, stages, stage)])
        given = _find(stages, stage.stage, "stage")
        records = [encode_json_record(each) for each in given.rows][: wanted.limit]
        return GivenRows(wanted, records=records, schema=given.schema, total=len(given.rows))


def _describe(name: str, stages: Mapping[str, TableData], wanted: WantedStage) -> PipelineOutline:
    outlines = [StageOutline(each, "transform") for each in stages]
    return PipelineOutline(name, name if wanted.of_runs else None, stages=outlines)


def _find(known: Mapping[str, _Given], name: str, kind: str) -> _Given:
    if name not in known:
        raise NotFoundError(
            f"The test gives no {kind} '{name}'; it gives: {', '.join(known) or 'none'}."
        )
    return known[name]
