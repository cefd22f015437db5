"""The calls of the application Analytics that the screen makes, and the answers that it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

import msgspec

from localcdap.api.app.jobs import JobDetail, JobLogLine
from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.apps.model import AppRequest
from localcdap.decoders import convert
from localcdap.host.cdap import Cdap

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


APPLICATION: Final = "ModelManagementApp"
_OK: Final = 200
_NOT_FOUND: Final = 404
_MOST: Final = 10_000


@dataclass(frozen=True)
class Contents:
    """What an experiment has; searches are jobs, the newest first."""

    experiment: Experiment
    splits: list[Split] = field(default_factory=list)
    models: list[Model] = field(default_factory=list)
    searches: list[JobDetail] = field(default_factory=list)


class AnalyticsCalls:
    """Calls the application for one namespace. Used in threads.

    :raises NotFoundError: from every method, when what it names was deleted.
    :raises BadRequestError: from every method, with what else the application says is wrong.
    """

    def __init__(self, cdap: Cdap, namespace: str) -> None:
        self._cdap = cdap
        self._namespace = namespace

    def list_algorithms(self) -> list[Algorithm]:
        return [convert(each, Algorithm) for each in self._ask("/algorithms")]

    def list_splitters(self) -> list[Splitter]:
        found = self._ask("/splitters", query={"all": "true"})
        return [convert(each, Splitter) for each in found]

    def list_experiments(self) -> list[Experiment]:
        page = self._get("experiments", limit=str(_MOST))
        return [convert(each, Experiment) for each in page["experiments"]]

    def read_contents(self, experiment: str) -> Contents:
        """Return an experiment with its splits, models and searches."""
        path = f"experiments/{_quote_path_part(experiment)}"
        models = self._get(f"{path}/models", limit=str(_MOST))["models"]
        return Contents(
            convert(self._get(path), Experiment),
            [convert(each, Split) for each in self._get(f"{path}/splits")],
            [convert(each, Model) for each in models],
            [convert(each, JobDetail) for each in self._get(f"{path}/searches")],
        )

    def put_experiment(self, name: str, body: dict[str, Any]) -> None:
        self._send("PUT", f"experiments/{_quote_path_part(name)}", body)

    def delete(self, experiment: str, kind: str = "", id: str = "") -> None:
        """Delete an experiment, or of it a split or a model: ``kind`` is ``splits`` or ``models``."""
        inside = f"/{kind}/{_quote_path_part(id)}" if kind else ""
        self._send("DELETE", f"experiments/{_quote_path_part(experiment)}{inside}")

    def add_split(self, experiment: str, body: dict[str, Any]) -> str:
        """Make a split, and return its id; a job does the work."""
        return str(
            self._send("POST", f"experiments/{_quote_path_part(experiment)}/splits", body)["id"]
        )

    def read_split(self, experiment: str, id: str) -> Split:
        return convert(self._get(f"experiments/{_quote_path_part(experiment)}/splits/{id}"), Split)

    def train(self, experiment: str, name: str, split: str, body: dict[str, Any]) -> str:
        """Make a model with a split and train it; return its id.

        A model whose training is rejected is deleted again.
        """
        path = f"experiments/{_quote_path_part(experiment)}/models"
        id = str(self._send("POST", path, {"name": name, "split": split})["id"])
        try:
            self._send("POST", f"{path}/{id}/train", body)
        except LocalcdapError:
            self.delete(experiment, "models", id)
            raise
        return id

    def read_model(self, experiment: str, id: str) -> tuple[Model, Report]:
        path = f"experiments/{_quote_path_part(experiment)}/models/{id}"
        return convert(self._get(path), Model), convert(self._get(f"{path}/report"), Report)

    def deploy(self, experiment: str, id: str) -> None:
        self._send("POST", f"experiments/{_quote_path_part(experiment)}/models/{id}/deploy")

    def search(self, experiment: str, split: str, body: dict[str, Any]) -> str:
        """Search the best parameters, and return the id of the job."""
        path = f"experiments/{_quote_path_part(experiment)}/splits/{split}/search"
        return str(self._send("POST", path, body)["id"])

    def prepare_looks(self) -> None:
        """Have the application load what first looks need."""
        self._get("looks")

    def take_look(self, body: dict[str, Any]) -> Look:
        return convert(self._send("POST", "looks", body), Look)

    def list_jobs(self) -> list[JobDetail]:
        """Return the jobs of the application, newest first."""
        return self._cdap.jobs.list_jobs(self._namespace, APPLICATION)

    def read_log(self, job: str, after: int = 0) -> list[JobLogLine]:
        return self._cdap.jobs.read_log(job, after)

    def stop(self, job: str) -> None:
        self._cdap.jobs.stop(job)

    def _get(self, path: str, **query: str) -> Any:
        return self._send("GET", path, None, query)

    def _send(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Any:
        whole = f"/v2/contexts/{_quote_path_part(self._namespace)}/{path}"
        return self._ask(whole, method, body, query)

    def _ask(
        self,
        path: str,
        method: str = "GET",
        body: Any = None,
        query: dict[str, str] | None = None,
    ) -> Any:
        request = AppRequest(method, path, dict(query or {}), body)
        answer = self._cdap.apps.call(APPLICATION, request)
        if answer.status == _OK:
            return answer.body
        said = answer.body if isinstance(answer.body, dict) else {}
        message = said.get("message") or f"The application answered {answer.status}."
        error = NotFoundError if answer.status == _NOT_FOUND else BadRequestError
        raise error(str(message), said.get("correctiveAction"))


def _quote_path_part(name: str) -> str:
    return quote(name, safe="")
