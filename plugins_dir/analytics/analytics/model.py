"""The entities of Analytics and their JSON, as in mmds: experiments, splits and models."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.app import BadRequestError, SortOrder

from .algorithms import require_algorithm
from .histograms import ColumnSplitStats, ColumnStats
from .splitters import check_parameters, find_splitter

_TYPES: Final = ("BOOLEAN", "STRING", "INT", "LONG", "FLOAT", "DOUBLE")
CATEGORICAL: Final = ("boolean", "string")
NUMERIC: Final = ("int", "long", "float", "double")
SKIP: Final = "skip"
KEEP: Final = "keep"


class ModelStatus(StrEnum):
    """The states of a model; the values are what JSON says."""

    PREPARING = "Preparing"
    SPLITTING = "Splitting"
    SPLIT_FAILED = "Split Failed"
    DATA_READY = "Data Ready"
    TRAINING = "Training"
    TRAINED = "Trained"
    TRAINING_FAILED = "Training Failed"
    DEPLOYED = "Deployed"


class SplitStatus(StrEnum):
    """The states of a split; the values are what JSON says."""

    SPLITTING = "Splitting"
    COMPLETE = "Complete"
    FAILED = "Failed"


class Experiment(msgspec.Struct, rename="camel", kw_only=True):
    """What is to be predicted, from which data."""

    name: str = ""
    description: str = ""
    srcpath: str | None = None
    """A file or folder, or ``table:NAME`` for a table or dataset of the namespace."""
    outcome: str | None = None
    outcome_type: str | None = None
    directives: list[str] = []
    workspace_id: str | None = None
    source_properties: dict[str, str] = {}
    """Properties of the source File, such as ``format``, besides the JSON of mmds; without any, a file
    is read as lines."""

    def check(self) -> None:
        """Check that everything is there.

        :raises BadRequestError: when something is missing or invalid.
        """
        for name in ("srcpath", "outcome", "outcomeType"):
            if not getattr(self, "outcome_type" if name == "outcomeType" else name):
                raise BadRequestError(f"Experiment {name} must be provided.")
        if str(self.outcome_type).upper() not in _TYPES:
            raise BadRequestError(
                f"Experiment outcomeType '{self.outcome_type}' is invalid. "
                f"Must be one of '{','.join(_TYPES)}'."
            )

    @property
    def is_categorical(self) -> bool:
        """Whether the outcome is a class, not a number."""
        return str(self.outcome_type).lower() in CATEGORICAL


class ExperimentStats(Experiment, rename="camel", kw_only=True):
    """An experiment with statistics of its models."""

    evaluation_metrics: dict[str, ColumnStats] = {}
    algorithms: ColumnStats
    statuses: ColumnStats


class DataSplit(msgspec.Struct, rename="camel", kw_only=True):
    """How data is prepared and split."""

    description: str = ""
    type: str | None = None
    params: dict[str, str] = {}
    directives: list[str] | None = None
    schema: Schema | None = None

    def check(self) -> None:
        """Check that everything is there.

        :raises BadRequestError: when something is missing or invalid.
        """
        if self.type is None:
            raise BadRequestError("A type must be specified.")
        if self.schema is None:
            raise BadRequestError("A schema must be specified.")
        if self.directives is None:
            raise BadRequestError("Directives must be specified.")
        splitter = find_splitter(self.type)
        if splitter is None:
            raise BadRequestError(f"No splitter of type {self.type} exists.")
        try:
            check_parameters(splitter, self.params)
        except ValueError as error:
            raise BadRequestError(str(error)) from None


class DataSplitStats(DataSplit, rename="camel", kw_only=True):
    """A split with its state and its statistics."""

    id: str
    training_path: str | None = None
    test_path: str | None = None
    status: SplitStatus
    stats: list[ColumnSplitStats] = []
    models: list[str] = []
    start: int
    end: int = -1
    job: str | None = None
    """The job that splits, or has split."""
    error: str | None = None
    """Why the split failed."""
    rows: dict[str, int] = {}
    """The records that were ``read``, ``prepared`` by the directives, and went to ``train`` and ``test``."""


class Metrics(msgspec.Struct):
    """How good a model is on the test data; those of the other kind are null."""

    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    rmse: float | None = None
    r2: float | None = None
    evariance: float | None = None
    mae: float | None = None


METRICS: Final = tuple(Metrics.__struct_fields__)


class Model(msgspec.Struct, rename="camel", kw_only=True):
    """A model of an experiment, with its state."""

    name: str
    description: str = ""
    algorithm: str | None = None
    split: str | None = None
    predictions_dataset: str | None = None
    directives: list[str] = []
    hyperparameters: dict[str, str] = {}
    id: str
    createtime: int
    trainingtime: int = -1
    trainedtime: int = -1
    deploytime: int = -1
    status: ModelStatus = ModelStatus.PREPARING
    outcome: str = ""
    features: list[str] = []
    categorical_features: list[str] = []
    evaluation_metrics: Metrics = msgspec.field(default_factory=Metrics)
    job: str | None = None
    """The job that trains the model, or has trained it."""
    error: str | None = None
    """Why the training failed."""
    handle_invalid: str = SKIP
    """What becomes of records with categories that the training data does not have: ``skip`` or ``keep``."""
    skipped_rows: dict[str, int] = {}
    """The records of ``test`` that were left out: without an outcome, or with an unknown category."""
    folder: str | None = None
    """The folder with the trained model."""


class CreateModelRequest(msgspec.Struct):
    """A model to be created."""

    name: str | None = None
    description: str | None = None
    directives: list[str] | None = None
    split: str | None = None

    def check(self) -> None:
        """Check the request.

        :raises BadRequestError: when it is invalid.
        """
        if not self.name:
            raise BadRequestError("Must specify a name")
        if self.split is not None and self.directives is not None:
            raise BadRequestError("Cannot specify both directives and a split.")


class DirectivesRequest(msgspec.Struct):
    """Directives for a model."""

    directives: list[str] | None = None


class TrainModelRequest(msgspec.Struct, rename="camel"):
    """How a model is to be trained."""

    algorithm: str | None = None
    hyperparameters: dict[str, str] | None = None
    predictions_dataset: str | None = None
    handle_invalid: str = SKIP
    """See :attr:`Model.handle_invalid`."""
    profile: str | None = None
    """The compute profile of the job."""

    def check(self) -> None:
        """Check the request.

        :raises BadRequestError: when it is invalid.
        """
        if not self.algorithm:
            raise BadRequestError("Must specify a name")
        require_algorithm(self.algorithm)
        if self.handle_invalid not in (SKIP, KEEP):
            raise BadRequestError(
                f"Invalid handleInvalid '{self.handle_invalid}'. Must be one of '{SKIP},{KEEP}'"
            )


class Id(msgspec.Struct):
    """The id of something that was created."""

    id: str


class ExperimentPage(msgspec.Struct, rename="camel"):
    """Some experiments, and the number of all."""

    total_row_count: int
    experiments: list[Experiment]


class ModelPage(msgspec.Struct, rename="camel"):
    """Some models, and the number of all."""

    total_row_count: int
    models: list[Model]


class PageRequest(msgspec.Struct):
    """Which entities are wanted, by name."""

    offset: int
    limit: int
    order: SortOrder

    @classmethod
    def parse(cls, offset: int, limit: int, sort: str) -> PageRequest:
        """Check the query parameters of a request (``SortInfo``).

        :raises BadRequestError: when one is wrong.
        """
        if offset < 0:
            raise BadRequestError("Offset must be zero or a positive number")
        if limit <= 0:
            raise BadRequestError("Limit must be a positive number")
        words = sort.split()
        if len(words) != 2:
            raise BadRequestError(
                "Sort information should only have 2 parameters sort field and type seperated by + sign"
            )
        if words[1].upper() not in ("ASC", "DESC"):
            raise BadRequestError("Sort type must be asc or desc type only")
        if words[0] != "name":
            raise BadRequestError("Sorting only on name is supported")
        return cls(offset, limit, SortOrder(words[1].upper()))

    def cut(self, entities: Sequence[Any]) -> list[Any]:
        """Return the entities of this page, of all sorted by name."""
        ordered = sorted(
            entities, key=lambda each: str(each.name), reverse=self.order is SortOrder.DESC
        )
        return ordered[self.offset : self.offset + self.limit]


def make_id() -> str:
    """Return a new id, as mmds makes them: a UUID without dashes."""
    return uuid.uuid4().hex


def get_now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def get_type_name(schema: Schema) -> str:
    """Return the name of a type in lower case, of a nullable type that of its values."""
    return str(schema.non_nullable.type.value)


def check_outcome(experiment: Experiment, schema: Schema) -> None:
    """Check that a split has the outcome of its experiment, of the same kind.

    :raises BadRequestError: when it has not.
    """
    field = schema.field(str(experiment.outcome))
    if field is None:
        raise BadRequestError(
            "Invalid split schema. The split must contain the experiment outcome "
            f"'{experiment.outcome}'."
        )
    found, wanted = get_type_name(field.schema), str(experiment.outcome_type).lower()
    for kind, types in (("categorical", CATEGORICAL), ("numeric", NUMERIC)):
        if wanted in types and found not in types:
            space = " " if kind == "categorical" else ""  # as mmds writes it
            raise BadRequestError(
                f"Invalid split schema. Outcome field '{experiment.outcome}' is of {kind} type "
                f"'{wanted.upper()}' in the experiment{space}, but is of non-{kind} type "
                f"'{found.upper()}' in the split."
            )
