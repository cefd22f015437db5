"""What the application Analytics answers, as far as the screen shows it."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

import msgspec

T = TypeVar("T")
TRAINED: Final = ("Trained", "Deployed")
"""The states of models that can predict."""
BUSY: Final = ("Splitting", "Training")
FAILED: Final = ("Split Failed", "Training Failed", "Failed")
CLASS_METRICS: Final = ("f1", "precision", "recall")
NUMBER_METRICS: Final = ("rmse", "mae", "r2", "evariance")
LESS_IS_BETTER: Final = ("rmse", "mae")


class ParameterRange(msgspec.Struct, rename="camel"):
    min: str | None = None
    max: str | None = None
    is_min_inclusive: bool = False
    is_max_inclusive: bool = False

    def __str__(self) -> str:
        parts = []
        if self.min is not None:
            parts.append(f"{'≥' if self.is_min_inclusive else '>'} {self.min}")
        if self.max is not None:
            parts.append(f"{'≤' if self.is_max_inclusive else '<'} {self.max}")
        return ", ".join(parts)


class Parameter(msgspec.Struct, rename="camel", kw_only=True):
    """A parameter of an algorithm or a splitter."""

    type: str
    name: str
    label: str
    description: str = ""
    default_val: str = "null"
    valid_values: list[str] = []
    range: ParameterRange | None = None

    @property
    def default(self) -> str:
        """The default as text; empty when there is none."""
        return "" if self.default_val == "null" else self.default_val

    @property
    def rule(self) -> str:
        """The values that are allowed, for people."""
        if self.valid_values:
            return ", ".join(self.valid_values)
        return str(self.range) if self.range is not None else self.type


class Algorithm(msgspec.Struct):
    """:param type: ``CLASSIFICATION`` or ``REGRESSION``."""

    id: str
    label: str
    type: str
    hyperparameters: list[Parameter]

    @property
    def is_regression(self) -> bool:
        return self.type == "REGRESSION"


class Splitter(msgspec.Struct):
    type: str
    label: str
    hyperparameters: list[Parameter]


class Experiment(msgspec.Struct, rename="camel", kw_only=True):
    name: str
    description: str = ""
    srcpath: str = ""
    outcome: str = ""
    outcome_type: str = ""
    directives: list[str] = []
    source_properties: dict[str, str] = {}

    @property
    def is_categorical(self) -> bool:
        """Whether the outcome is a class, not a number."""
        return self.outcome_type.lower() in ("boolean", "string")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of its models."""
        return CLASS_METRICS if self.is_categorical else NUMBER_METRICS


class Parts(msgspec.Struct, Generic[T]):
    """A value of the training data, of the test data and of both."""

    train: T
    test: T
    total: T


class SplitBin(msgspec.Struct):
    bin: str
    count: Parts[int]


class ColumnStats(msgspec.Struct, rename="camel", kw_only=True):
    """A column of a split; what only numbers or only words have is None for the others."""

    field: str
    num_total: Parts[int]
    num_null: Parts[int]
    unique: Parts[int] | None = None
    min: Parts[float | None] | None = None
    max: Parts[float | None] | None = None
    mean: Parts[float | None] | None = None
    stddev: Parts[float | None] | None = None
    histo: list[SplitBin] = []
    divergence: float = 0.0

    @property
    def overlap(self) -> float | None:
        """The part of their distributions that both parts share, from 0 to 1; None without values."""
        train = sum(each.count.train for each in self.histo)
        test = sum(each.count.test for each in self.histo)
        if not train or not test:
            return None
        return sum(min(e.count.train / train, e.count.test / test) for e in self.histo)

    @property
    def unknown(self) -> int:
        """The values that only the test data have; 0 for numbers."""
        return 0 if self.unique is None else self.unique.total - self.unique.train


class Split(msgspec.Struct, rename="camel", kw_only=True):
    id: str
    description: str = ""
    type: str = ""
    params: dict[str, str] = {}
    directives: list[str] = []
    schema: Any = None
    status: str
    stats: list[ColumnStats] = []
    models: list[str] = []
    start: int = -1
    end: int = -1
    job: str | None = None
    error: str | None = None
    rows: dict[str, int] = {}

    @property
    def title(self) -> str:
        """A name for people: the description, else how it splits."""
        return self.description or f"{self.type} {self.params.get('testPercentage', '20')} %"


class Model(msgspec.Struct, rename="camel", kw_only=True):
    id: str
    name: str
    description: str = ""
    algorithm: str | None = None
    split: str | None = None
    hyperparameters: dict[str, str] = {}
    createtime: int = -1
    trainingtime: int = -1
    trainedtime: int = -1
    deploytime: int = -1
    status: str
    outcome: str = ""
    features: list[str] = []
    categorical_features: list[str] = []
    evaluation_metrics: dict[str, float | None] = {}
    job: str | None = None
    error: str | None = None
    handle_invalid: str = "skip"
    skipped_rows: dict[str, int] = {}
    folder: str | None = None

    @property
    def is_trained(self) -> bool:
        return self.status in TRAINED and bool(self.folder)


class Report(msgspec.Struct, rename="camel", kw_only=True):
    """What the training of a model, or a first look, has found.

    :param confusion: for each class, the numbers of records by predicted class.
    :param scores: for each hundredth of the score, the records of the first and of the second class.
    :param roc: false and true positive rate for each threshold.
    :param residuals: bins, each with its ends and its count.
    """

    labels: list[str] = []
    confusion: list[list[int]] = []
    scores: list[list[int]] = []
    roc: list[tuple[float, float]] = []
    area_under_roc: float | None = None
    residuals: list[tuple[float, float, int]] = []
    importance: dict[str, float] = {}
    warnings: list[str] = []


class Look(msgspec.Struct, kw_only=True):
    """A first look at a model, by scikit-learn."""

    by: str
    metrics: dict[str, float | None]
    report: Report
    rows: dict[str, int]
    seconds: float


class SearchCandidate(msgspec.Struct):
    """A combination of a search: the parameters that vary, and the mean of each metric over the folds."""

    hyperparameters: dict[str, str]
    metrics: dict[str, float] = {}
    spread: float | None = None
    error: str | None = None


class FoundParameters(msgspec.Struct):
    """:param candidates: the best first. :param combinations: of the whole grid."""

    algorithm: str
    metric: str
    folds: int
    combinations: int
    candidates: list[SearchCandidate]
