"""The service ``methods``: calls methods of plugins by name (CDAP "Plugin Endpoints")."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from localcdap.api.errors import BadRequestError
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.security import Permission, Principal
from localcdap.api.tables import TableFile
from localcdap.artifacts.model import ArtifactSelector, PluginRef
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.macros.evaluation import evaluate
from localcdap.pipeline.macros.parser import LOGICAL_START_TIME
from localcdap.sandbox.plugin_calls import (
    SESSION_MEMORY_MB,
    MethodAnswer,
    MethodRequest,
    call_method,
)
from localcdap.security.access import of_namespace, requires
from localcdap.security.principals import act_as

FetchRows: TypeAlias = Callable[[str, str], list[dict[str, Any]]]
OpenTables: TypeAlias = Callable[
    [str, Sequence[str]], contextlib.AbstractContextManager[list[TableFile]]
]
"""Writes tables of a namespace into files, which are deleted at the end of the context."""


class Worker(Protocol):
    """Runs a job with a plugin; see :class:`localcdap.sandbox.pool.PluginWorkers`."""

    def do(
        self,
        job: Callable[[MethodRequest], MethodAnswer],
        request: MethodRequest,
        plugin: PluginRef,
        who: str,
        session: str,
    ) -> MethodAnswer: ...

    def end_session(self, session: str) -> None: ...


class MethodPlugin(msgspec.Struct):
    """The plugin that has the method."""

    type: str
    name: str
    artifact: ArtifactSelector = ArtifactSelector()
    properties: dict[str, str] = {}
    """The properties that are set so far. If all of their macros have values, these are evaluated as at the
    start of a run; else those that have one before a run."""


class MethodCall(msgspec.Struct):
    """A method to be called."""

    plugin: MethodPlugin
    method: str
    request: Any = None
    """JSON in the form that the method takes; None for a method that takes nothing."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros, which override the preferences. The method sees both."""
    needs_values: bool = False
    """Whether it is an error when a macro has no value, as at the start of a run."""
    session: str = ""
    """The session to which the call belongs, by a name that the caller chooses; "" for none.

    The calls of a session have a process of their own. What a method keeps there stays until the session
    ends, but for a process that is lost, or is not used for long while there are many sessions.
    """


class MethodResult(msgspec.Struct):
    """The answer of a method."""

    answer: Any
    """JSON."""
    artifact: ArtifactId
    """The artifact of the plugin that answered."""
    logical_start: str = ""
    """The logical start time for which macros were evaluated, in milliseconds since 1970. Calls and runs that
    go on with the work have it as their argument ``logical.start.time``."""


class MethodCaller:
    """Calls methods of plugins for callers of this process.

    :param worker: runs the code of plugins.
    :param fetch_rows: returns the rows that a table of an application has for a namespace; None: there are
        no such tables.
    :param open_tables: gives the tables for lookups; None: there are none.
    :param session_memory_mb: that a method may keep from one call of a session to the next, in MiB.
    """

    def __init__(
        self,
        environments: EnvironmentFactory,
        worker: Worker,
        fetch_rows: FetchRows | None,
        open_tables: OpenTables | None,
        session_memory_mb: int = SESSION_MEMORY_MB,
    ) -> None:
        self._environments = environments
        self._worker = worker
        self._fetch_rows = fetch_rows
        self._open_tables = open_tables
        self._session_memory_mb = session_memory_mb

    def call(self, call: MethodCall, reader: Principal | None = None) -> MethodResult:
        """Call a method, see :meth:`MethodService.call`.

        :param reader: for whom tables are read; None for who acts in this thread.
        """
        environment = self._environments.create(call.namespace)
        use = call.plugin
        plugin = environment.plugins.require(use.type, use.name, use.artifact)
        stage = StageUse(use.name, PluginUse(use.type, use.name, use.properties, use.artifact))
        merged = environment.merge_arguments(None, call.arguments)
        macros = environment.create_macros(merged, runtime=True)
        declared_properties = environment.plugins.properties(plugin)
        evaluated = evaluate(stage, declared_properties, macros)
        if evaluated.failures and call.needs_values:
            raise _create_macro_error(evaluated.failures)
        if evaluated.failures:
            evaluated = evaluate(stage, declared_properties, macros.without_runtime())
        plugin = environment.plugins.add_uses(plugin, evaluated.properties)
        plugin = environment.plugins.add_method_uses(plugin, call.method, call.request)
        declared = environment.plugins.find_method(plugin, call.method)
        tables = declared.tables if declared is not None and self._fetch_rows is not None else []
        rows = {table: self._fetch_rows(call.namespace, table) for table in tables}  # type: ignore[misc]
        request = MethodRequest(
            plugin,
            evaluated.properties,
            evaluated.macros,
            call.method,
            call.request,
            rows,
            session_memory_mb=self._session_memory_mb,
            arguments=dict(macros.arguments),
        )
        who = f"Method '{call.method}' of plugin '{use.name}'"
        session = f"{call.namespace}/{call.session}" if call.session else ""
        done = self._worker.do(call_method, request, plugin, who, session)
        while done.wanted_tables:
            with act_as(reader), self._write_tables(call.namespace, done.wanted_tables) as files:
                request = msgspec.structs.replace(request, files=files)
                done = self._worker.do(call_method, request, plugin, who, session)
        return MethodResult(done.answer, plugin.artifact, macros.arguments[LOGICAL_START_TIME])

    def _write_tables(
        self, namespace: str, names: Sequence[str]
    ) -> contextlib.AbstractContextManager[list[TableFile]]:
        if self._open_tables is None:
            missing = [TableFile(name, problem=f"there is no table '{name}'") for name in names]
            return contextlib.nullcontext(missing)
        return self._open_tables(namespace, names)


def _create_macro_error(failures: Sequence[ValidationFailure]) -> BadRequestError:
    """Return the error that tells all failures of macros."""
    messages = dict.fromkeys(each.message for each in failures)
    actions = dict.fromkeys(each.corrective_action for each in failures if each.corrective_action)
    return BadRequestError("\n".join(messages), "\n".join(actions))


class MethodService:
    """Calls methods of plugins. Threads may share it. The parameters are those of :class:`MethodCaller`."""

    def __init__(
        self,
        environments: EnvironmentFactory,
        worker: Worker,
        fetch_rows: FetchRows | None = None,
        open_tables: OpenTables | None = None,
        session_memory_mb: int = SESSION_MEMORY_MB,
    ) -> None:
        self._worker = worker
        self.caller = MethodCaller(environments, worker, fetch_rows, open_tables, session_memory_mb)

    @requires(of_namespace("call.namespace"), Permission.EXECUTE)
    def call(self, call: MethodCall) -> MethodResult:
        """Call a method of a plugin.

        :raises NotFoundError: when there is no such namespace, plugin or method; the message lists the
            methods that there are.
        :raises BadRequestError: when the request or a property is invalid; names the field. When a macro
            without a value is in the properties, if the call needs the values of all.
        :raises PluginError: when the method raised, hung, crashed or took too much memory.
        """
        return self.caller.call(call)

    @requires(of_namespace("namespace"), Permission.EXECUTE)
    def end_session(self, session: str, namespace: str = "default") -> None:
        """End a session, if there is one, and its process."""
        self._worker.end_session(f"{namespace}/{session}")
