"""Where the sample of the prep area comes from, and the calls that show it after a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.record_json import encode_json_record
from localcdap.api.schema import Schema
from localcdap.datasets.sql import SqlRequest
from localcdap.decoders import convert, decode_json
from localcdap.host.cdap import Cdap
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.tui.screens.prep.meanings import PrepMeaning

SAMPLE: Final = 1000
"""Records of a sample."""
ROWS: Final = 500
"""Rows that are shown; profiles and counts are those of the whole sample."""


@dataclass(frozen=True)
class StageRecordsSource:
    """The records that reach a stage.

    :param records: as JSON.
    :param take: gets the recipe and the schema of its rows, a JSON document.
    """

    pipeline: str
    stage: str
    schema: Schema
    records: Sequence[Any]
    arguments: Mapping[str, str]
    take: Callable[[str, str | None], object]


@dataclass(frozen=True)
class PrepSource:
    """A file, a table of the namespace, or what reaches a stage.

    :param path: of the file; "" for other data.
    :param seed: takes random records; None takes the first ones.
    """

    path: str = ""
    table: str = ""
    stage: StageRecordsSource | None = field(default=None, compare=False)
    format: str | None = None
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
        return self.path or f"table:{self.table}"

    @property
    def name(self) -> str:
        if self.stage is not None:
            return f"{self.stage.stage} in {self.stage.pipeline}"
        return self.path.rpartition("/")[2] or self.table

    @property
    def workspace(self) -> str:
        """The name of its sample: another one for each way to read it, and for other records of a stage."""
        how = (self.format, self.delimiter, self.header, self.encoding, self.sheet)
        return f"{self.key} {how} {self.limit} {self.seed} {id(self.stage)}"

    def with_changes(self, **changes: Any) -> PrepSource:
        """Return the same data, read in another way."""
        return replace(self, **changes)


class PrepValueCount(msgspec.Struct):
    value: str
    count: int


class PrepProfile(msgspec.Struct):
    """What the values of a column are like; see the plugin method ``workspace``."""

    rows: int
    nulls: int
    empty: int
    distinct: int
    lowest: str | None = None
    highest: str | None = None
    bars: list[int] = []
    top: list[PrepValueCount] = []
    patterns: list[PrepValueCount] = []
    meaning: PrepMeaning | None = None


class PrepColumn(msgspec.Struct):
    name: str
    type: str
    profile: PrepProfile | None = None


class PrepCounts(msgspec.Struct):
    directive: str
    rows_in: int
    rows_out: int
    failed: int
    sent: int


class PrepProblem(msgspec.Struct):
    message: str
    line: int = 0
    column: int = 0
    is_warning: bool = False
    corrective_action: str | None = None
    nearest: str | None = None


class PrepFailure(msgspec.Struct):
    step: int
    record: int
    message: str
    is_sent: bool
    values: dict[str, str | None]


class PrepFormat(msgspec.Struct):
    format: str
    delimiter: str = ","
    header: bool = True
    encoding: str = "utf-8"


class PrepView(msgspec.Struct):
    """The rows of the sample after a recipe, or after one of its steps."""

    is_open: bool
    is_complete: bool
    columns: list[PrepColumn]
    column_count: int
    rows: list[list[str | None]]
    row_count: int
    record_count: int
    steps: list[PrepCounts]
    problems: list[PrepProblem]
    failures: list[PrepFailure]
    unreadable: list[str]
    total_count: int | None = None
    format: PrepFormat | None = None
    schema: Any = None

    @property
    def errors(self) -> list[PrepProblem]:
        return [each for each in self.problems if not each.is_warning]


@dataclass(frozen=True)
class PrepRequest:
    """What is to be seen.

    :param session: the name of the session whose process keeps the sample.
    :param step: the rows after so many running directives; None for all.
    """

    source: PrepSource
    session: str
    namespace: str
    directives: Sequence[str]
    step: int | None = None
    sort: str | None = None
    is_descending: bool = False


def read_view(cdap: Cdap, request: PrepRequest) -> PrepView:
    """Return what a request shows; the sample is read first where that is needed."""
    while True:
        view = _call(cdap, request, None)
        if not view.is_open:
            view = _call(cdap, request, _describe_sample(cdap, request.source, request.namespace))
        if view.is_open and view.is_complete:
            return view


class PrepCluster(msgspec.Struct):
    values: list[PrepValueCount]


class PrepClusters(msgspec.Struct):
    is_open: bool
    is_complete: bool
    clusters: list[PrepCluster]


def read_clusters(cdap: Cdap, request: PrepRequest, column: str, method: str) -> list[PrepCluster]:
    """Return the clusters of the values of a column after a recipe, see the plugin method ``cluster``."""
    wanted = {"workspace": request.source.workspace, "column": column, "method": method}
    while True:
        found = convert(_call_method(cdap, request, "cluster", wanted), PrepClusters)
        if found.is_open and found.is_complete:
            return found.clusters
        read_view(cdap, request)


def list_directive_names(cdap: Cdap, namespace: str) -> list[str]:
    """Return the names of the directives of a namespace."""
    call = MethodCall(MethodPlugin("transform", "Wrangler"), "directives", None, namespace)
    return sorted(each["directive"] for each in cdap.methods.call(call).answer)


def close_session(cdap: Cdap, session: str, namespace: str) -> None:
    """End the process that keeps a sample."""
    cdap.methods.end_session(session, namespace)


def _call(cdap: Cdap, request: PrepRequest, source: dict[str, Any] | None) -> PrepView:
    wanted = {
        "workspace": request.source.workspace,
        "source": source,
        "view": {
            "step": request.step,
            "limit": ROWS,
            "sort": request.sort,
            "is_descending": request.is_descending,
        },
    }
    return convert(_call_method(cdap, request, "workspace", wanted), PrepView)


def _call_method(
    cdap: Cdap, request: PrepRequest, method: str, wanted: dict[str, Any]
) -> dict[str, Any]:
    properties = {"directives": "\n".join(request.directives), "field": "*"}
    stage = request.source.stage
    call = MethodCall(
        MethodPlugin("transform", "Wrangler", properties=properties),
        method,
        wanted,
        request.namespace,
        dict(stage.arguments) if stage is not None else {},
        session=request.session,
    )
    answer: dict[str, Any] = cdap.methods.call(call).answer
    return answer


def _describe_sample(cdap: Cdap, source: PrepSource, namespace: str) -> dict[str, Any]:
    if source.stage is not None:
        records = list(source.stage.records)
        schema = decode_json(str(source.stage.schema))
        return {"schema": schema, "records": records, "total": len(records)}
    if not source.path:
        return _read_table(cdap, source, namespace)
    names = ("path", "format", "delimiter", "header", "encoding", "sheet")
    file = {name: getattr(source, name) for name in names}
    return {"file": file, "limit": source.limit, "seed": source.seed}


def _read_table(cdap: Cdap, source: PrepSource, namespace: str) -> dict[str, Any]:
    """Return records of a table.

    :raises BadRequestError: when it has no columns.
    """
    quoted = '"' + source.table.replace('"', '""') + '"'
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
