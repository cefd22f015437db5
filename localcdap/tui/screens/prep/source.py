"""Where the sample of the prep area comes from, and the calls that show it after a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api.connector import SampleRequest, SampleType
from localcdap.api.errors import BadRequestError, SessionLostError
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.api.serialization.value_types import decode_schema
from localcdap.api.sql_names import quote_identifier
from localcdap.connectors.all_records import SKIP_LINES
from localcdap.datasets.sql import SqlRequest
from localcdap.decoders import convert, decode_json
from localcdap.expectations.rules import Expectation, to_json
from localcdap.host.cdap import Cdap
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME
from localcdap.pipeline.methods import MethodCall, MethodPlugin, MethodResult
from localcdap.workspace_views import (
    CandidateList,
    ClusterView,
    ColumnMatch,
    Facet,
    MatchList,
    SampleRecords,
    ValueCluster,
    ViewRequest,
    WorkspaceView,
)

SAMPLE: Final = 1000
"""Records of a sample."""
_PART_S: Final = 0.2
"""Seconds after which a part of the rows is shown, and the next key can end the rest."""
_PROFILE_S: Final = 0.05
"""Seconds for the profiles of a part, those of the columns in sight first."""
FILE_OPTIONS: Final = ("format", "skip_lines", "delimiter", "header", "encoding", "sheet")
"""How a file is read; what is None is detected."""
ROWS: Final = 500
"""Rows that are shown; profiles and counts are those of the whole sample."""


@dataclass(frozen=True)
class StageRecordsSource:
    """The records that reach a stage.

    :param records: as JSON.
    :param take: gets the recipe, the schema of its rows, a JSON document, and the rules for them, as JSON.
    """

    pipeline: str
    stage: str
    schema: Schema
    records: Sequence[Any]
    arguments: Mapping[str, str]
    take: Callable[[str, str | None, list[Any]], object]


@dataclass(frozen=True)
class PrepSource:
    """A file, a table of the namespace, what is at a path of a connection, or what reaches a stage.

    :param path: of the file; "" for other data.
    :param place: the path in the connection.
    :param seed: takes random records; None takes the first ones.
    :param kind: which records of a connection are taken; of a file or a table, only ``seed`` counts.
    :param wanted: the column whose values are represented, the condition of the records, or the recipe that
        fails, as the kind needs it.
    :param types: how the connection finds the types of texts; None leaves them texts.
    """

    path: str = ""
    table: str = ""
    stage: StageRecordsSource | None = field(default=None, compare=False)
    connection: str = ""
    place: str = ""
    kind: SampleType = SampleType.DEFAULT
    wanted: str = ""
    types: str | None = None
    format: str | None = None
    skip_lines: int | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    sheet: str | None = None
    limit: int = SAMPLE
    seed: int | None = None

    @property
    def key(self) -> str:
        """What tells the source from others, however it is read."""
        if self.stage is not None:
            return f"stage:{self.stage.pipeline}/{self.stage.stage}"
        if self.connection:
            return f"connection:{self.connection}:{self.place}"
        return self.path or f"table:{self.table}"

    @property
    def name(self) -> str:
        if self.stage is not None:
            return f"{self.stage.stage} in {self.stage.pipeline}"
        if self.connection:
            return self.place.rstrip("/").rpartition("/")[2] or self.connection
        return self.path.rpartition("/")[2] or self.table

    @property
    def workspace(self) -> str:
        """The name of its sample: another one for each way to read it, and for other records of a stage."""
        how = (*(getattr(self, name) for name in FILE_OPTIONS), self.types)
        which = (self.limit, self.seed, self.kind, self.wanted)
        return f"{self.key} {how} {which} {id(self.stage)}"

    def with_changes(self, **changes: Any) -> PrepSource:
        """Return the same data, read in another way."""
        return replace(self, **changes)

    @property
    def reading(self) -> dict[str, str]:
        """How a connection reads the data, as far as it is chosen; what is missing is detected."""
        header = None if self.header is None else str(self.header).lower()
        chosen = {
            "format": self.format,
            SKIP_LINES: None if self.skip_lines is None else str(self.skip_lines),
            "delimiter": self.delimiter,
            "header": header,
            "encoding": self.encoding,
            "sheet": self.sheet,
            "types": self.types,
        }
        return {name: value for name, value in chosen.items() if value is not None}


@dataclass(frozen=True)
class PrepRequest:
    """What is to be seen.

    :param session: the name of the session whose process keeps the sample.
    :param step: the rows after so many running directives; None for all.
    :param first_column: the first column that is shown, of very many.
    :param nearest: the place of the column, among these, from which on profiles are made first.
    :param compares: whether the rows before the step are shown, too.
    """

    source: PrepSource
    session: str
    namespace: str
    directives: Sequence[str]
    step: int | None = None
    sort: str | None = None
    is_descending: bool = False
    facets: tuple[Facet, ...] = ()
    first_column: int = 0
    nearest: int = 0
    compares: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Values of the macros of the recipe."""
    rules: Sequence[Expectation] = ()
    """For the rows after all steps."""


def read_parts(cdap: Cdap, request: PrepRequest) -> Iterator[WorkspaceView]:
    """Yield what a request shows, first what is known soon, and last all of it.

    The sample is read first where that is needed. Each part comes after some tenths of a second. The parts
    have one logical start time: with another one, steps that have it would run again.
    """
    while True:
        view, start = _call(cdap, request, None)
        request = replace(request, arguments={**request.arguments, LOGICAL_START_TIME: start})
        if not view.is_open:
            sample = _describe_sample(cdap, request.source, request.namespace)
            view, _ = _call(cdap, request, sample)
        if view.is_open:
            yield view
            if view.is_complete:
                return


def read_view(cdap: Cdap, request: PrepRequest) -> WorkspaceView:
    """Return all that a request shows."""
    *_, last = read_parts(cdap, request)
    return last


def read_clusters(cdap: Cdap, request: PrepRequest, column: str, method: str) -> list[ValueCluster]:
    """Return the clusters of the values of a column after a recipe, see the plugin method ``cluster``."""
    wanted = {"column": column, "method": method}
    return _ask(cdap, request, "cluster", wanted, ClusterView).clusters


def read_candidates(
    cdap: Cdap, request: PrepRequest, column: str, examples: Sequence[tuple[str, Sequence[str]]]
) -> CandidateList:
    """Return directives by example, see the plugin method ``by-example``.

    :param examples: texts of the column, each with the wanted texts.
    """
    given = [{"text": text, "wanted": list(wanted)} for text, wanted in examples]
    wanted = {"column": column, "examples": given}
    return _ask(cdap, request, "by-example", wanted, CandidateList)


def read_records(cdap: Cdap, request: PrepRequest, limit: int) -> SampleRecords:
    """Return the first records of a sample, and the rows that the recipe makes of them."""
    return _ask(cdap, request, "records", {"limit": limit}, SampleRecords)


def read_matches(cdap: Cdap, left: PrepRequest, right: PrepRequest) -> list[ColumnMatch]:
    """Return the columns of the rows after two recipes that have equal values, see the method ``match``.

    :param right: of the same session.
    """
    wanted = {
        "workspace": left.source.workspace,
        "other": right.source.workspace,
        "directives": list(right.directives),
    }
    while True:
        found = _decode(_call_method(cdap, left, "match", wanted).answer, MatchList)
        if found.is_open and found.is_complete:
            return found.matches
        read_view(cdap, left)
        read_view(cdap, right)


_T = TypeVar("_T")
_A = TypeVar("_A", ClusterView, CandidateList, SampleRecords)


def _ask(
    cdap: Cdap, request: PrepRequest, method: str, wanted: dict[str, Any], answer: type[_A]
) -> _A:
    """Call a method on the rows after a recipe, which run first where they are not there."""
    wanted = {"workspace": request.source.workspace, **wanted}
    while True:
        found = _decode(_call_method(cdap, request, method, wanted).answer, answer)
        if found.is_open and found.is_complete:
            return found
        read_view(cdap, request)


def _decode(answer: dict[str, Any], type: type[_T]) -> _T:
    """Decode the answer of a method of Wrangler."""
    return convert(answer, type, hook=decode_schema)


def list_columns(cdap: Cdap, request: PrepRequest) -> list[tuple[str, str]]:
    """Return the names and types of all columns, also of those that are not shown."""
    schema = read_view(cdap, request).schema
    return [(field.name, field.schema.display_name) for field in schema or ()]


def list_directive_names(cdap: Cdap, namespace: str) -> list[str]:
    """Return the names of the directives of a namespace."""
    call = MethodCall(MethodPlugin("transform", "Wrangler"), "directives", None, namespace)
    return sorted(each["directive"] for each in cdap.methods.call(call).answer)


def close_session(cdap: Cdap, session: str, namespace: str) -> None:
    """End the process that keeps a sample."""
    cdap.methods.end_session(session, namespace)


def _call(
    cdap: Cdap,
    request: PrepRequest,
    source: dict[str, Any] | None,
) -> tuple[WorkspaceView, str]:
    """Return what a request shows, and the logical start time for which its macros are evaluated.

    :param source: opens the workspace; None for one that is open.
    """
    view = ViewRequest(
        request.step,
        limit=ROWS,
        sort=request.sort,
        is_descending=request.is_descending,
        first_column=request.first_column,
        profile_seconds=_PROFILE_S,
        nearest=request.nearest,
        seconds=_PART_S,
        facets=list(request.facets),
        compares=request.compares,
    )
    wanted = {
        "workspace": request.source.workspace,
        "source": source,
        "view": msgspec.to_builtins(view) | {"rules": to_json(list(request.rules))},
    }
    result = _call_method(cdap, request, "workspace", wanted)
    return _decode(result.answer, WorkspaceView), result.logical_start


def _call_method(
    cdap: Cdap, request: PrepRequest, method: str, wanted: dict[str, Any]
) -> MethodResult:
    properties = {"directives": "\n".join(request.directives), "field": "*"}
    stage = request.source.stage
    call = MethodCall(
        MethodPlugin("transform", "Wrangler", properties=properties),
        method,
        wanted,
        request.namespace,
        {**(stage.arguments if stage is not None else {}), **request.arguments},
        session=request.session,
    )
    try:
        return cdap.methods.call(call)
    except SessionLostError:  # a new process answers that the workspace is not open
        return cdap.methods.call(call)


def _describe_sample(cdap: Cdap, source: PrepSource, namespace: str) -> dict[str, Any]:
    if source.stage is not None:
        records = list(source.stage.records)
        schema = decode_json(str(source.stage.schema))
        return {"schema": schema, "records": records, "total": len(records)}
    if source.connection:
        return _read_connection(cdap, source, namespace)
    if not source.path:
        return _read_table(cdap, source, namespace)
    file = {name: getattr(source, name) for name in ("path", *FILE_OPTIONS)}
    return {"file": file, "limit": source.limit, "seed": source.seed}


def _read_connection(cdap: Cdap, source: PrepSource, namespace: str) -> dict[str, Any]:
    """Return records of what is at a path of a connection.

    :raises BadRequestError: when there are none whose columns are known.
    """
    request = build_sample_request(source)
    found = cdap.connectors.sample(namespace, source.connection, request).result
    if found.schema is None:
        how = f": {found.unreadable[0]}" if found.unreadable else "."
        raise BadRequestError(
            f"There are no such records in {source.name}{how}", "Choose another sample or path."
        )
    return {
        "schema": decode_json(str(found.schema)),
        "records": found.records,
        "total": None if found.is_estimate else found.total,
        "description": found.description,
        "reading": found.properties,
        "unreadable": found.unreadable,
    }


def build_sample_request(source: PrepSource) -> SampleRequest:
    """Return the request for the sample of a connection."""
    needed = {SampleType.MATCHING: "condition", SampleType.FAILING: "recipe"}.get(source.kind)
    properties = source.reading | ({needed: source.wanted} if needed is not None else {})
    strata = source.wanted if source.kind is SampleType.STRATIFIED else None
    return SampleRequest(
        source.place,
        source.limit,
        properties,
        strata=strata,
        sampling_type=source.kind,
        seed=source.seed,
    )


def _read_table(cdap: Cdap, source: PrepSource, namespace: str) -> dict[str, Any]:
    """Return records of a table.

    :raises BadRequestError: when it has no columns.
    """
    quoted = quote_identifier(source.table)
    chosen = ""
    if source.seed is not None:
        chosen = f" USING SAMPLE reservoir({source.limit} ROWS) REPEATABLE ({source.seed})"
    query = f"SELECT * FROM {quoted}{chosen}"  # noqa: S608 - the name is quoted
    found = cdap.sql.query(SqlRequest(query, namespace, limit=source.limit))
    counted = cdap.sql.query(SqlRequest(f"SELECT count(*) FROM {quoted}", namespace))  # noqa: S608
    table = found.to_table()
    if not table.num_columns:
        raise BadRequestError(f"The table '{source.table}' has no columns.", "Choose another one.")
    from localcdap.api.arrow import from_arrow_schema

    schema: Schema = from_arrow_schema(table.schema)
    return {
        "schema": decode_json(str(schema)),
        "records": [encode_json_record(row) for row in table.to_pylist()],
        "total": counted.to_table().column(0)[0].as_py(),
    }
