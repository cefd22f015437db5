"""The workspaces of namespaces: their table, and the recipes that run on their samples.

Rules, texts and JSON are those of wrangler ``WorkspaceHandler`` and ``WorkspaceStore``.
"""

from __future__ import annotations

import codecs
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api import Schema
from localcdap.api.app import (
    BadRequestError,
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
_BODY: Final = "body"
"""The column of uploaded lines."""
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


class Sample(msgspec.Struct):
    """The records of a workspace."""

    schema: str
    """As JSON."""
    records: list[Any]
    """As JSON values, see ``localcdap.api.record_json``."""


class WorkspaceUpdate(msgspec.Struct):
    """What replaces the recipe and the insights of a workspace."""

    directives: list[str] = []
    insights: dict[str, Any] = {}


class ExecutionRequest(msgspec.Struct):
    """A recipe that runs on the sample."""

    directives: list[str] | None = None
    limit: int = _SHOWN


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
        lines = content.decode("utf-8", "replace").split(_unescape(delimiter))
        while len(lines) > 1 and not lines[-1]:
            lines.pop()  # as Java's split
        schema = Schema.record("inputSchema", [(_BODY, Schema.STRING)])
        id, now = str(uuid.uuid4()), _get_time_ms()
        workspace = Workspace(name, id, now, now, [], {})
        sample = Sample(str(schema), [{_BODY: line} for line in lines])
        self._run(lambda table: _upsert(table, namespace, workspace, sample))
        return id

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
    ) -> dict[str, Any]:
        """Run a recipe on the sample; the workspace keeps the recipe when it succeeds.

        :param recipe: directives that follow those of the request.
        :raises NotFoundError: when there is no such workspace.
        :raises BadRequestError: when the recipe is wrong.
        :raises AnswerError: when a directive fails.
        """
        directives = [*(request.directives or ()), *recipe]
        _, sample = self._run(lambda table: _require(table, namespace, id))
        plugin = self._context.plugin(namespace.name, "transform", "Wrangler")
        found = _execute(plugin, directives, sample, request.limit)
        self._change(namespace, id, directives=_load(directives, found["userDirectives"]))
        return {
            "message": "Success",
            "count": len(found["values"]),
            **{name: found[name] for name in ("values", "headers", "types", "summary")},
            # Beyond the original, which says nothing of rows that a recipe leaves out because they fail.
            "errors": found["errors"],
            "errorCount": found["errorCount"],
        }

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
            "sources": (workspace.sample_spec or {}).get("relatedPlugins", []),
            "wrangler": {"schema": found["schema"], "plugin": stage},
        }

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
