"""Editing sessions over the mock plugins, configured in this process by the real configurer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from localcdap.api.failures import ValidationFailure
from localcdap.pipeline.editing.edits import Edit
from localcdap.pipeline.editing.incremental_validator import EditResult, StageState
from localcdap.pipeline.editing.service import EditingService, OpenRequest
from localcdap.sandbox.configure_cache import ConfigureCache, ConnectedCheckResult
from localcdap.sandbox.stage_configuration import ConfigureRequest, ConfigureResult, configure_stage
from tests.pipeline.shelf import create_resolver, resolve

LONG_S = 60.0


class InProcess:
    """What ``PluginWorkers`` does for sessions, without processes."""

    def __init__(self) -> None:
        self._memo = ConfigureCache()
        self.calls: list[str] = []
        """Stages whose plugin was asked."""

    def configure(self, request: ConfigureRequest) -> ConfigureResult:
        kept = self._memo.find(request)
        if kept is None:
            self.calls.append(request.stage)
            kept = configure_stage(request)
            self._memo.store(request, kept, crashed=False)
        return kept

    def find_remembered(self, request: ConfigureRequest) -> ConfigureResult | None:
        return self._memo.find(request)

    def find_connected(self, request: ConfigureRequest) -> ConnectedCheckResult | None:
        return self._memo.find_connected(request)


class Bench:
    """A session, the states that a front end would hold of it, and validation from scratch beside it."""

    def __init__(self, document: Any, workers: Any = None, **options: Any) -> None:
        self.workers = workers or InProcess()
        self.resolver = create_resolver(None, self.workers.configure, **options)
        self.service = EditingService(self.resolver.environments, self.workers)
        opened = self.service.open(OpenRequest(document), LONG_S)
        self.id = opened.id
        self.errors: list[ValidationFailure] = []
        self.stages: dict[str, StageState] = {}
        self.revision = -1
        self.last = self._take(opened.change)

    def apply(self, edit: Edit, wait_s: float = LONG_S) -> EditResult:
        return self._take(self.service.apply(self.id, edit, wait_s))

    def wait(self) -> EditResult:
        """Take over what changed until nothing is being checked."""
        return self._take(self.service.wait_until_checked(self.id, self.revision, LONG_S))

    def next(self) -> EditResult:
        """Take over what changes next."""
        return self._take(self.service.get_changes(self.id, self.revision, LONG_S))

    def text(self) -> str:
        return self.service.get_document(self.id)

    def messages(self) -> list[str]:
        failures = [*self.errors, *(f for state in self.stages.values() for f in state.errors)]
        return [failure.message for failure in failures]

    def check(self) -> None:
        """What the session reported is what a validation from scratch says of its document."""
        fresh = resolve(self.resolver, self.text())
        reported = [*self.errors, *(f for state in self.stages.values() for f in state.errors)]
        assert _counted(reported) == _counted(fresh.errors)
        warned = [w for state in self.stages.values() for w in state.warnings]
        assert _counted(warned) == _counted(fresh.warnings)
        assert self.last.valid == (fresh.spec is not None)
        for name, spec in fresh.stages.items():
            state = self.stages[name]
            assert state.input_schemas == spec.input_schemas, name
            assert state.output_schema == spec.output_schema, name
            assert state.error_schema == spec.error_schema, name
            assert state.port_schemas == spec.port_schemas, name
            assert state.artifact == spec.plugin.artifact, name

    def _take(self, change: EditResult) -> EditResult:
        assert change.revision >= self.revision
        if change.errors is not None:
            self.errors = change.errors
        for name in change.removed:
            self.stages.pop(name, None)
        self.stages.update(change.stages)
        self.revision, self.last = change.revision, change
        return change


def _counted(failures: list[ValidationFailure]) -> Counter[bytes]:
    return Counter(msgspec.json.encode(failure) for failure in failures)
