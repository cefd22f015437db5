"""The workspaces of namespaces: their table, and the recipes that run on their samples.

Rules, texts and JSON are those of wrangler ``WorkspaceHandler`` and ``WorkspaceStore``.
"""

from __future__ import annotations

import codecs
import re
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api import SampleRequest, Schema
from localcdap.api.app import (
    BadRequestError,
    ConnectionSample,
    FieldType,
    NamespaceSummary,
    NotFoundError,
    StructuredTable,
    SystemContext,
    TransactionContext,
    UserPlugin,
    decode_json,
    namespaced_table,
)

from .configuration import DirectiveConfig
from .responses import refuse_recipe, refuse_rows

WORKSPACES: Final = namespaced_table(
    "workspaces_store",
    fields={
        "workspace_id": FieldType.STRING,
        "createdtimemillis": FieldType.LONG,
        "updatedtimemillis": FieldType.LONG,
        "sample": FieldType.BYTES,
        "workspace_info": FieldType.STRING,
    },
    primary_key=["workspace_id"],
)
DELIMITER: Final = "\\u001A"
"""Between the lines of an upload, unless a header says otherwise."""
_BODY: Final = "body"
"""The column of uploaded lines."""
_CSV_WITH_NAMES: Final = re.compile(r"\s*parse-as-csv\b.*\btrue\s*;?\s*")
"""A directive that takes the names of the columns from the first line."""
_PRAGMA: Final = "#pragma load-directives"
_SHOWN: Final = 1000
T = TypeVar("T")


class Workspace(msgspec.Struct, rename="camel", omit_defaults=True):
    """A workspace without its sample."""

    workspace_name: str
    workspace_id: str
    created_time_millis: int
    updated_time_millis: int
    directives: list[str]
    insights: dict[str, Any]
    """What a front end stores."""
    sample_spec: dict[str, Any] | None = None
    """The connection and the plugins of the sample; None for uploaded data."""
    owner: str | None = None
    """Who made it; the original does not know it."""


class Sample(msgspec.Struct):
    """The records of a workspace."""

    schema: str
    """As JSON."""
    records: list[Any]
    """As JSON values, see ``localcdap.api.record_json``."""


class WorkspaceCreationRequest(msgspec.Struct, rename="camel"):
    """What a workspace gets its sample from (CDAP ``WorkspaceCreationRequest``)."""

    connection: str | None = None
    connection_type: str | None = None
    sample_request: SampleRequest | None = None


class ResamplingRequest(msgspec.Struct, rename="camel"):
    """Another sample of the same connection."""

    sample_request: SampleRequest | None = None


class WorkspaceUpdate(msgspec.Struct):
    """What replaces the recipe and the insights of a workspace."""

    directives: list[str] = []
    insights: dict[str, Any] = {}


class ExecutionRequest(msgspec.Struct):
    """A recipe that runs on the sample."""

    directives: list[str] | None = None
    limit: int = _SHOWN
    """The most rows to return."""
    sampled: int | None = None
    """How many of the records take part; None for all."""


class WorkspaceStore:
    """The workspaces of all namespaces. Threads may share it."""

    def __init__(self, context: SystemContext) -> None:
        self._context = context

    def upload(
        self, namespace: NamespaceSummary, name: str | None, delimiter: str, content: bytes | None
    ) -> str:
        """Create a workspace of uploaded lines, and return its id.

        :param delimiter: between the lines, with the escapes of Java.
        :raises BadRequestError: when there is no name, or no content.
        """
        if name is None:
            raise BadRequestError("Name must be provided in the 'file' header")
        if not content:
            raise BadRequestError(
                "Body not present, please post the file containing the records to create a workspace."
            )
        sample = _read_lines(_BODY, delimiter, content)
        return self._add(namespace, name, str(uuid.uuid4()), sample)

    def create(self, namespace: NamespaceSummary, id: str, name: str) -> None:
        """Create a workspace without records, or give an existing one a name."""

        def write(table: StructuredTable) -> None:
            if table.read(namespace.key | {"workspace_id": id}) is None:
                sample = Sample(_make_schema(id), [])
                _upsert(table, namespace, self._make(name, id), sample)
                return
            workspace, sample = _require(table, namespace, id)
            workspace.workspace_name = name
            _upsert(table, namespace, workspace, sample)

        self._run(write)

    def replace_lines(
        self, namespace: NamespaceSummary, id: str, delimiter: str, content: bytes
    ) -> None:
        """Replace the sample of a workspace by lines, in a column that is named like the workspace.

        :raises NotFoundError: when there is no such workspace.
        """
        self._replace_sample(namespace, id, _read_lines(id, delimiter, content))

    def create_from_sample(
        self, namespace: NamespaceSummary, request: WorkspaceCreationRequest
    ) -> str:
        """Create a workspace with a sample of a connection, and return its id.

        :raises BadRequestError: when the connection or the request is missing, or it cannot be sampled.
        :raises NotFoundError: when there is no such connection, or nothing at the path.
        """
        if request.connection is None:
            raise BadRequestError("Connection name has to be provided to create a workspace")
        wanted = request.sample_request
        if wanted is None:
            raise BadRequestError("Sample request has to be provided to create a workspace")
        taken = self._context.connections.sample(namespace.name, request.connection, wanted)
        id = str(uuid.uuid4())
        specification = _describe_sample(request.connection, request.connection_type, wanted, taken)
        name = (wanted.path or "").rstrip("/").rpartition("/")[2] or id
        return self._add(namespace, name, id, _to_sample(taken), specification)

    def resample(self, namespace: NamespaceSummary, id: str, request: ResamplingRequest) -> None:
        """Take the sample of a workspace again; its recipe stays.

        :raises NotFoundError: when there is no such workspace, or its connection is gone.
        :raises BadRequestError: when the data were uploaded, or the request is missing or wrong.
        """
        held = self.get(namespace, id).sample_spec
        if held is None:
            raise BadRequestError("Connection name has to exist to resample a workspace")
        wanted = request.sample_request
        if wanted is None:
            raise BadRequestError("Sample request has to be provided to resample a workspace")
        name = held["connectionName"]
        taken = self._context.connections.sample(namespace.name, name, wanted)
        specification = _describe_sample(name, held.get("connectionType"), wanted, taken)
        self._replace_sample(namespace, id, _to_sample(taken), sample_spec=specification)

    def list_workspaces(self, namespace: NamespaceSummary) -> list[Workspace]:
        """Return the workspaces of a namespace, by id."""

        def read(table: StructuredTable) -> list[Workspace]:
            return [_decode(row["workspace_info"]) for row in table.scan(namespace.rows())]

        return self._run(read)

    def get(self, namespace: NamespaceSummary, id: str) -> Workspace:
        """Return a workspace.

        :raises NotFoundError: when there is no such workspace.
        """
        return self._run(lambda table: _require(table, namespace, id)[0])

    def update(self, namespace: NamespaceSummary, id: str, update: WorkspaceUpdate) -> None:
        """Replace the recipe and the insights of a workspace.

        :raises NotFoundError: when there is no such workspace.
        """
        self._change(namespace, id, directives=update.directives, insights=update.insights)

    def delete(self, namespace: NamespaceSummary, id: str) -> None:
        """Delete a workspace.

        :raises NotFoundError: when there is no such workspace.
        """

        def remove(table: StructuredTable) -> None:
            _require(table, namespace, id)
            table.delete(namespace.key | {"workspace_id": id})

        self._run(remove)

    def execute(
        self,
        namespace: NamespaceSummary,
        id: str,
        request: ExecutionRequest,
        recipe: Sequence[str] = (),
        config: DirectiveConfig | None = None,
    ) -> dict[str, Any]:
        """Run a recipe on the sample; the workspace keeps the recipe when it succeeds.

        :param recipe: directives that follow those of the request.
        :raises NotFoundError: when there is no such workspace.
        :raises BadRequestError: when the recipe is wrong.
        :raises AnswerError: when a directive fails.
        """
        directives = [*(request.directives or ()), *recipe]
        whole = msgspec.structs.replace(request, directives=directives)
        found = self.run(namespace, id, whole, config)
        self._change(namespace, id, directives=_load(directives, found["userDirectives"]))
        return {
            "message": "Success",
            "count": len(found["values"]),
            **{name: found[name] for name in ("values", "headers", "types", "summary")},
            # Beyond the original, which says nothing of rows that a recipe leaves out because they fail.
            "errors": found["errors"],
            "errorCount": found["errorCount"],
        }

    def run(
        self,
        namespace: NamespaceSummary,
        id: str,
        request: ExecutionRequest,
        config: DirectiveConfig | None = None,
    ) -> dict[str, Any]:
        """Run a recipe on the sample, and change nothing.

        :param config: the directives that may be used, and other names for them.
        :raises NotFoundError: when there is no such workspace.
        :raises BadRequestError: when the recipe is wrong, or uses an excluded directive.
        :raises AnswerError: when a directive fails.
        """
        directives = (config or DirectiveConfig()).apply(request.directives or ())
        _, sample = self._run(lambda table: _require(table, namespace, id))
        if request.sampled is not None:
            sample.records = sample.records[: max(0, request.sampled)]
        plugin = self._context.plugin(namespace.name, "transform", "Wrangler")
        return _execute(plugin, directives, sample, request.limit)

    def specify(self, namespace: NamespaceSummary, id: str) -> dict[str, Any]:
        """Return the stages of a pipeline that does what a workspace does.

        :raises NotFoundError: when there is no such workspace.
        """
        workspace, sample = self._run(lambda table: _require(table, namespace, id))
        plugin = self._context.plugin(namespace.name, "transform", "Wrangler")
        found = _execute(plugin, workspace.directives, sample, 0)
        directives = _load(workspace.directives, found["userDirectives"])
        artifact = plugin.artifact
        properties = {
            "directives": "\n".join(directives),
            "field": "*",
            "precondition": "false",
            "workspaceId": id,
        }
        stage = {
            "name": "Wrangler",
            "type": "transform",
            "properties": properties,
            "artifact": {
                "name": artifact.name,
                "version": artifact.version,
                "scope": artifact.scope.lower(),
            },
        }
        return {
            "sources": _list_sources(workspace),
            "wrangler": {"schema": found["schema"], "plugin": stage},
        }

    def _make(self, name: str, id: str, specification: dict[str, Any] | None = None) -> Workspace:
        now, caller = _get_time_ms(), self._context.caller
        owner = None if caller.is_system else caller.name
        return Workspace(name, id, now, now, [], {}, specification, owner)

    def _add(
        self,
        namespace: NamespaceSummary,
        name: str,
        id: str,
        sample: Sample,
        specification: dict[str, Any] | None = None,
    ) -> str:
        workspace = self._make(name, id, specification)
        self._run(lambda table: _upsert(table, namespace, workspace, sample))
        return id

    def _replace_sample(
        self, namespace: NamespaceSummary, id: str, sample: Sample, **changes: Any
    ) -> None:
        def write(table: StructuredTable) -> None:
            workspace, _ = _require(table, namespace, id)
            changed = msgspec.structs.replace(
                workspace, updated_time_millis=_get_time_ms(), **changes
            )
            _upsert(table, namespace, changed, sample)

        self._run(write)

    def _change(self, namespace: NamespaceSummary, id: str, **changes: Any) -> None:
        def write(table: StructuredTable) -> None:
            workspace, sample = _require(table, namespace, id)
            changed = msgspec.structs.replace(
                workspace, updated_time_millis=_get_time_ms(), **changes
            )
            _upsert(table, namespace, changed, sample)

        self._run(write)

    def _run(self, work: Callable[[StructuredTable], T]) -> T:
        def body(tx: TransactionContext) -> T:
            return work(tx.table("workspaces_store"))

        return self._context.transactions.run(body)


def _execute(
    plugin: UserPlugin, directives: Sequence[str], sample: Sample, limit: int
) -> dict[str, Any]:
    """Run directives in a plugin worker.

    :raises AnswerError: when one fails, or sends rows to the errors and goes on.
    """
    request = {
        "directives": list(directives),
        "schema": decode_json(sample.schema),
        "records": sample.records,
        "limit": limit,
    }
    found: dict[str, Any] = plugin.call_method("execute", request)
    failure = found["failure"]
    if failure is not None:
        raise refuse_recipe(failure["message"], failure["rowIndex"], failure["directiveIndex"])
    if found["shownErrors"]:
        raise refuse_rows(found["shownMessage"], found["shownErrors"])
    return found


def _make_schema(column: str) -> str:
    return str(Schema.record("inputSchema", [(column, Schema.STRING)]))


def _read_lines(column: str, delimiter: str, content: bytes) -> Sample:
    """Return a sample of lines."""
    lines = content.decode("utf-8", "replace").split(_unescape(delimiter))
    while len(lines) > 1 and not lines[-1]:
        lines.pop()  # as Java's split
    return Sample(_make_schema(column), [{column: line} for line in lines])


def _to_sample(taken: ConnectionSample) -> Sample:
    """Return the sample of a connection as a workspace keeps it.

    :raises BadRequestError: when it has no columns.
    """
    schema = taken.result.schema
    if schema is None:
        raise BadRequestError(
            "The sample has no columns.",
            "Take another sample, or say how the data are read: the properties of the request.",
        )
    return Sample(str(schema), taken.result.records)


def _describe_sample(
    connection: str, type: str | None, request: SampleRequest, taken: ConnectionSample
) -> dict[str, Any]:
    """Return what a workspace knows of its sample (CDAP ``SampleSpec``)."""
    stages = [
        {
            "schema": each.schema,
            "plugin": {
                "name": each.name,
                "type": each.type,
                "properties": each.properties,
                "artifact": each.artifact,
            },
        }
        for each in taken.detail.related_plugins
    ]
    return {
        "connectionName": connection,
        "connectionType": type,
        "path": request.path,
        "relatedPlugins": stages,
        "supportedSampleTypes": taken.detail.supported_sample_types,
        "sampleRequest": msgspec.to_builtins(request),
        # Beyond the original, which does not say of how many records this is a sample.
        "description": taken.result.description,
        "total": taken.result.total,
    }


def _list_sources(workspace: Workspace) -> list[Any]:
    """Return the sources of the sample; one whose lines the recipe parses copies their names everywhere."""
    stages: list[Any] = (workspace.sample_spec or {}).get("relatedPlugins", [])
    if any(map(_CSV_WITH_NAMES.fullmatch, workspace.directives)):
        for each in stages:
            each["plugin"]["properties"]["copyHeader"] = "true"
    return stages


def _load(directives: Sequence[str], used: Sequence[str]) -> list[str]:
    """Return directives that begin with a pragma which loads those of users."""
    plain = [each for each in directives if not each.lstrip().startswith(_PRAGMA)]
    return [f"{_PRAGMA} {','.join(used)};", *plain] if used else plain


def _unescape(delimiter: str) -> str:
    try:
        return codecs.decode(delimiter.encode("latin-1", "backslashreplace"), "unicode_escape")
    except UnicodeDecodeError:
        raise BadRequestError(f"The delimiter '{delimiter}' has an unknown escape.") from None


def _get_time_ms() -> int:
    return time.time_ns() // 1_000_000


def _decode(text: str) -> Workspace:
    return decode_json(text, type=Workspace)


def _require(
    table: StructuredTable, namespace: NamespaceSummary, id: str
) -> tuple[Workspace, Sample]:
    row = table.read(namespace.key | {"workspace_id": id})
    if row is None:
        raise NotFoundError(f"Workspace {id} does not exist")
    return _decode(row["workspace_info"]), decode_json(row["sample"], type=Sample)


def _upsert(
    table: StructuredTable, namespace: NamespaceSummary, workspace: Workspace, sample: Sample
) -> None:
    table.upsert(
        namespace.key
        | {
            "workspace_id": workspace.workspace_id,
            "createdtimemillis": workspace.created_time_millis,
            "updatedtimemillis": workspace.updated_time_millis,
            "sample": msgspec.json.encode(sample),
            "workspace_info": msgspec.json.encode(workspace).decode(),
        }
    )
