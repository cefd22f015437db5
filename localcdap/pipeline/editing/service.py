"""The service ``editing``: editing sessions for front ends in any process."""

from __future__ import annotations

import contextlib
import gc
import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

import msgspec

from localcdap.api.errors import ConflictError, LocalcdapError, NotFoundError
from localcdap.pipeline.editing.edited_document import EditedDocument
from localcdap.pipeline.editing.edits import Edit
from localcdap.pipeline.editing.incremental_validator import EditResult
from localcdap.pipeline.editing.session import EditingContext, EditingSession, PluginCheckQueue
from localcdap.pipeline.environment import EnvironmentFactory
from localcdap.pipeline.validation.datasets import (
    DatasetPlan,
    DatasetPlanner,
    NoDatasets,
    StageDataset,
)
from localcdap.pipeline.validation.stage_configuration import Configurer, StageConfiguration
from localcdap.rpc.methods import non_idempotent
from localcdap.sandbox.pool import PluginWorkers
from localcdap.sandbox.stage_configuration import ConfigureRequest
from localcdap.security.access import of_namespace, open_to_all, requires

_LOG: Final = logging.getLogger(__name__)
PATIENCE_S: Final = 0.006
"""Seconds for which an edit waits for plugins by default: with the edit itself it fits a frame of 16 ms."""
_LONGEST_WAIT_S: Final = 60.0
_UNUSED_S: Final = 1800.0
"""Seconds without any call after which a session is closed."""
_MOST: Final = 200
"""Sessions at once."""


class OpenRequest(msgspec.Struct, rename="camel"):
    """A pipeline to edit."""

    document: Any
    """JSON text, or decoded JSON."""
    namespace: str = "default"
    arguments: dict[str, str] = {}
    """Values of macros; preferences give the others."""
    file: str | None = None
    """The file of the document, for error messages."""
    name: str | None = None
    """The name whose preferences apply, where it is not the one in the document."""


class OpenedSession(msgspec.Struct):
    """A session that was opened."""

    id: str
    change: EditResult
    """The state of the whole pipeline, as far as it is known."""


class EditingService:
    """Holds editing sessions. A session ends when it is closed, unused for half an hour, or with the host.

    :param workers: configure stages, and remember the results.
    :param datasets: says which datasets cannot be as stages declare them.
    """

    def __init__(
        self,
        environments: EnvironmentFactory,
        workers: PluginWorkers,
        datasets: DatasetPlanner = NoDatasets(),  # noqa: B008 - it has no state
    ) -> None:
        self._datasets = datasets
        self._plans = ThreadPoolExecutor(1, "localcdap-editing-datasets")
        self._environments = environments
        self._workers = workers
        self._checks = PluginCheckQueue(workers.configure)
        self._sessions: dict[str, EditingSession] = {}
        self._lock = threading.Lock()
        self._has_frozen = False

    @requires(of_namespace("request.namespace"))
    @non_idempotent
    def open(self, request: OpenRequest, wait_s: float = 0.25) -> OpenedSession:
        """Open a session on a pipeline.

        :param wait_s: seconds to wait for plugins whose results are not remembered.
        :raises DocumentError: when the document is not a pipeline at all.
        :raises NotFoundError: when there is no such namespace.
        :raises ConflictError: when too many sessions are open.
        """
        edited, document = EditedDocument.read(request.document, request.file)
        name = request.name or document.name
        key = secrets.token_hex(8)
        session = EditingSession(
            key,
            edited,
            partial(self._create_context, request, name, document.name or name),
            self._workers,
            self._checks,
            partial(self._connect, request.namespace),
            partial(self._plan_datasets, request.namespace, name),
        )
        self._close_unused()
        with self._lock:
            if len(self._sessions) >= _MOST:
                raise ConflictError(f"There are {_MOST} editing sessions.", "Close some first.")
            self._sessions[key] = session
            self._freeze_loaded_objects()
        return OpenedSession(key, session.wait_until_checked(-1, min(wait_s, _LONGEST_WAIT_S)))

    @open_to_all("only its opener has the id of a session")
    @non_idempotent
    def apply(self, id: str, edit: Edit, wait_s: float = PATIENCE_S) -> EditResult:
        """Apply an edit, and return what it changed.

        Results that plugins give after ``wait_s`` seconds come with :meth:`get_changes`.

        :raises NotFoundError: when there is no such session, stage or connection.
        :raises ConflictError: when a name is taken, or there is nothing to undo or redo.
        :raises BadRequestError: when the edit is invalid.
        """
        return self._session(id).apply(edit, min(wait_s, _LONGEST_WAIT_S))

    @open_to_all("only its opener has the id of a session")
    def get_changes(self, id: str, after: int = -1, wait_s: float = 0.0) -> EditResult:
        """Return what changed after a revision, as soon as anything did; with -1 the whole state.

        :param wait_s: seconds to wait for it, at most 60.
        """
        return self._session(id).get_changes(after, min(wait_s, _LONGEST_WAIT_S))

    @open_to_all("only its opener has the id of a session")
    def wait_until_checked(
        self, id: str, after: int = -1, wait_s: float = _LONGEST_WAIT_S
    ) -> EditResult:
        """Return what changed after a revision, once all plugins have answered or at the timeout."""
        return self._session(id).wait_until_checked(after, min(wait_s, _LONGEST_WAIT_S))

    @open_to_all("only its opener has the id of a session")
    def detect(self, id: str, stages: list[str] | None = None) -> EditResult:
        """Make the connected checks of stages, by default of all that have any; results come as changes.

        A result is kept while plugin, properties and input schemas of the stage stay the same; the stage's
        ``detectedMs`` is its time. A run always makes the checks again.
        """
        session = self._session(id)
        session.detect(stages)
        return session.get_changes(-1, 0)

    @open_to_all("only its opener has the id of a session")
    def refresh(self, id: str) -> EditResult:
        """Validate the pipeline again, with the current preferences and plugins."""
        session = self._session(id)
        session.refresh()
        return session.get_changes(-1, 0)

    @open_to_all("only its opener has the id of a session")
    def get_document(self, id: str) -> str:
        """Return the JSON text of the pipeline as it is now, to save or export it."""
        return self._session(id).get_text()

    @open_to_all("only its opener has the id of a session")
    def close(self, id: str) -> None:
        """Close a session; no error when it has ended already."""
        with self._lock:
            session = self._sessions.pop(id, None)
        if session is not None:
            session.close()

    def refresh_soon(self) -> None:
        """Validate all sessions again in the background, after the plugin index has changed."""
        if self._sessions:
            threading.Thread(
                target=self._refresh, name="localcdap-editing-refresh", daemon=True
            ).start()

    def close_all(self) -> None:
        """Close all sessions, and release the callers that wait for changes."""
        self._checks.close()
        self._plans.shutdown(wait=False, cancel_futures=True)
        if self._has_frozen:
            gc.unfreeze()
        for key in list(self._sessions):
            self.close(key)

    def _freeze_loaded_objects(self) -> None:
        """Freeze the objects that exist before the first session, so that full collections skip them.

        A full garbage collection takes about 20 ms with all modules loaded, longer than an edit may take.
        """
        if not self._has_frozen:
            self._has_frozen = True
            gc.freeze()

    def _refresh(self) -> None:
        for session in list(self._sessions.values()):
            with contextlib.suppress(NotFoundError):  # its namespace was deleted
                session.refresh()

    def _session(self, id: str) -> EditingSession:
        session = self._sessions.get(id)
        if session is None:
            raise NotFoundError(
                f"There is no editing session '{id}'; it ended, or its host did.",
                "Open the pipeline again.",
            )
        session.used = time.monotonic()
        return session

    def _close_unused(self) -> None:
        before = time.monotonic() - _UNUSED_S
        for key, session in list(self._sessions.items()):
            if session.used < before:
                self.close(key)

    def _create_context(
        self,
        request: OpenRequest,
        name: str | None,
        document_name: str | None,
        configurer: Configurer,
    ) -> EditingContext:
        environment = self._environments.create(request.namespace)
        arguments = environment.merge_arguments(name, request.arguments)
        configure = StageConfiguration(
            environment.plugins,
            configurer,
            environment.create_macros(arguments),
            path_locations=environment.locations,
        )
        return EditingContext(
            configure,
            environment.secrets,
            environment.templates,
            environment.create_replacer(document_name, {}, arguments=arguments),
        )

    def _plan_datasets(
        self,
        namespace: str,
        application: str | None,
        declared: Sequence[StageDataset],
        on_plan: Callable[[DatasetPlan], None],
    ) -> None:
        def plan() -> None:
            try:
                found = self._datasets.plan(namespace, declared, application)
            except LocalcdapError as error:
                _LOG.warning("datasets of an edited pipeline were not checked: %s", error.message)
                return
            on_plan(found)

        if isinstance(self._datasets, NoDatasets):
            return
        with contextlib.suppress(RuntimeError):  # the host closes
            self._plans.submit(plan)

    def _connect(self, namespace: str, request: ConfigureRequest) -> ConfigureRequest:
        """Return the request with the checks that need files, databases or a network."""
        environment = self._environments.create(namespace)
        return msgspec.structs.replace(
            request, locations=environment.locations, tables=environment.tables
        )
