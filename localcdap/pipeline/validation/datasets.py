"""The datasets that a pipeline declares: what the package of datasets says about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import msgspec

from localcdap.api.dataset.definition import DatasetChange, DatasetDeclaration, PartitionChange
from localcdap.api.failures import Cause, ValidationFailure
from localcdap.pipeline.validation.stage_configuration import ConfiguredStage
from localcdap.store.store import Transaction

DATASET_UPDATE: Final = "Dataset Update"
"""The type of failures and warnings about a dataset that would change."""


class StageDataset(msgspec.Struct, frozen=True):
    """A dataset that a stage declares."""

    stage: str
    declaration: DatasetDeclaration


def list_stage_datasets(stages: Iterable[ConfiguredStage]) -> list[StageDataset]:
    """Return the datasets that configured stages declare."""
    return [
        StageDataset(each.stage.name, declared)
        for each in stages
        for declared in each.result.datasets
    ]


class DatasetPlan(msgspec.Struct, frozen=True):
    """What the declarations of a pipeline mean for the datasets of a namespace."""

    failures: list[ValidationFailure] = []
    """The declarations that existing datasets cannot follow, by stage and property."""
    changes: list[tuple[StageDataset, DatasetChange]] = []
    """The datasets that must be created or updated."""


class DatasetPlanner(Protocol):
    """Compares the declarations of a pipeline with datasets, and creates and updates these."""

    def plan(
        self, namespace: str, datasets: Sequence[StageDataset], application: str | None
    ) -> DatasetPlan:
        """Return what must change, and what cannot. Nothing is changed.

        :param application: the deployed pipeline of this name has declared its datasets before.
        """
        return DatasetPlan()

    def apply(
        self,
        tx: Transaction,
        namespace: str,
        datasets: Sequence[StageDataset],
        application: str | None,
        principal: str | None = None,
    ) -> list[DatasetChange]:
        """Create and update the datasets as part of a transaction; return what has changed.

        :param application: the pipeline that is being deployed; None for a run of a file.
        :param principal: the owner of new datasets; None: that of the namespace.
        :raises UnauthorizedError: when the user may not create or change a dataset, or name its owner.
        :raises IncompatibleUpdateError: when a dataset has changed since the plan and cannot follow any more.
        """
        return []

    def change_partitions(self, tx: Transaction, changes: Sequence[PartitionChange]) -> None:
        """Add and drop the partitions that a run has written and replaced, as part of a transaction.

        :raises LocalcdapError: when a file set has changed so that it cannot have them.
        """
        return

    def forget(self, tx: Transaction, namespace: str, application: str) -> None:
        """Forget what a pipeline has declared, when it is deleted. The datasets stay."""
        return


class NoDatasets(DatasetPlanner):
    """The planner of an instance without datasets, in tests of validation."""


def create_update_warnings(plan: DatasetPlan) -> list[ValidationFailure]:
    """Return a warning for each existing dataset that a deployment would update."""
    message = "The deployment changes dataset '{}': it {}."
    return _describe_updates(
        plan, message, "A run of the file needs the option --update-datasets for that."
    )


def create_update_failures(plan: DatasetPlan) -> list[ValidationFailure]:
    """Return a failure for each existing dataset that would have to change before a run could write it."""
    message = "Dataset '{}' must change before the run can write it: it {}."
    return _describe_updates(
        plan, message, "Run with --update-datasets, or deploy the pipeline: localcdap import FILE."
    )


def _describe_updates(plan: DatasetPlan, message: str, action: str) -> list[ValidationFailure]:
    return [
        ValidationFailure(
            DATASET_UPDATE,
            message.format(change.name, change.describe()),
            action,
            list_causes(dataset),
            stage=dataset.stage,
            field=dataset.declaration.config_property,
        )
        for dataset, change in plan.changes
        if not change.is_new
    ]


def list_causes(dataset: StageDataset) -> list[Cause]:
    """Return the property of the stage that names the dataset as the cause of a failure."""
    named = dataset.declaration.config_property
    return [Cause({"stageConfig": named})] if named is not None else []
