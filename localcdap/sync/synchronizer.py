"""Synchronizes a folder from the process of a front end: it has the files, the host has the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from localcdap.api.errors import NotFoundError
from localcdap.sync.folder import SyncFolder
from localcdap.sync.merge import Side
from localcdap.sync.model import (
    BaseRecord,
    InstanceOrder,
    SyncDirection,
    SyncOutcome,
    SyncPlan,
    SyncRequest,
    complete_records,
    make_address,
)


class SyncCalls(Protocol):
    """The service :class:`~localcdap.sync.service.SyncService`, in the host or here."""

    def list_folders(self) -> list[str]: ...
    def plan(self, request: SyncRequest) -> SyncPlan: ...
    def apply(self, order: InstanceOrder) -> SyncOutcome: ...
    def record(self, namespace: str, folder: str, records: list[BaseRecord]) -> None: ...
    def forget(self, namespace: str, folder: str) -> None: ...


class Synchronizer:
    """Plans and makes the synchronizations of one namespace and one folder.

    A process that is killed at any point leaves files and entities of which each is old or new: what was
    agreed on is recorded last, and the next plan finds that both sides have a change already.
    """

    def __init__(self, service: SyncCalls, namespace: str, folder: Path) -> None:
        self._service = service
        self._namespace = namespace
        self.folder: Final = SyncFolder(folder, service.list_folders())

    @contextlib.contextmanager
    def hold(self, direction: SyncDirection = SyncDirection.BOTH) -> Iterator[None]:
        """Let no other process synchronize the folder during a block; see :meth:`.SyncFolder.hold`.

        :raises NotFoundError: when there is no such folder to pull from.
        """
        self._require_folder(direction)
        with self.folder.hold():
            yield

    def plan(
        self,
        direction: SyncDirection = SyncDirection.BOTH,
        choices: Mapping[str, Side] | None = None,
        *,
        formats: bool = False,
    ) -> SyncPlan:
        """Return what a synchronization will do; nothing is changed.

        :param choices: the sides to take in conflicts, see :class:`.SyncRequest`; so is ``formats``.
        :raises NotFoundError: when there is no such namespace; or no such folder to pull from.
        :raises BadRequestError: when the folder cannot be read.
        """
        self._require_folder(direction)
        content = self.folder.read()
        plan = self._service.plan(
            SyncRequest(
                self._namespace,
                self.folder.id,
                content.files,
                direction,
                dict(choices or {}),
                formats,
            )
        )
        plan.problems = [*content.problems, *plan.problems]
        return plan

    def apply(self, plan: SyncPlan, *, fix: bool = False) -> SyncOutcome:
        """Make the changes of a plan that has no problems and no conflicts: first those of the instance.

        :param fix: whether to deploy pipelines with installed versions of plugins.
        :returns: what the instance made of it; with problems, nothing was changed.
        :raises ConflictError: when a file or an entity has changed since the plan was made.
        :raises BadRequestError: when a file cannot be written.
        """
        self.folder.check(plan.files)
        awaited = {each.entity for each in plan.files}
        later = [each for each in plan.records if make_address(each.kind, each.key) in awaited]
        order = InstanceOrder(
            self._namespace,
            self.folder.id,
            plan.instance,
            [each for each in plan.records if each not in later],
            fix,
        )
        outcome = SyncOutcome([], [], {})
        if order.changes or order.records:
            outcome = self._service.apply(order)
        if outcome.problems:
            return outcome
        held = {each.entity for each in outcome.held}
        files = [each for each in plan.files if each.entity not in held]
        self.folder.check(files)
        self.folder.change(files)
        later = [each for each in later if make_address(each.kind, each.key) not in held]
        if later:
            completed = complete_records(later, plan.instance, outcome.stored)
            self._service.record(self._namespace, self.folder.id, completed)
        return outcome

    def _require_folder(self, direction: SyncDirection) -> None:
        if direction is SyncDirection.PULL and not self.folder.path.is_dir():
            raise NotFoundError(
                f"There is no folder {self.folder.path}.", "Name the folder that holds the files."
            )

    def forget(self) -> None:
        """Forget what was agreed on: the next plan compares everything."""
        self._service.forget(self._namespace, self.folder.id)
