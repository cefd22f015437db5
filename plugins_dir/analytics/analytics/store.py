"""The experiments, splits and models of namespaces: tables and transitions (mmds ``ExperimentStore``).

Its methods work inside a transaction, so that a service, a job and a listener share them.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from localcdap.api import Schema
from localcdap.api.app import (
    BadRequestError,
    ConflictError,
    FieldType,
    NamespaceSummary,
    NotFoundError,
    Range,
    TransactionContext,
    decode_json,
    namespaced_table,
)

from .algorithms import fill_hyperparameters
from .histograms import BINS, ColumnSplitStats, ColumnStats, count_numbers, count_words
from .model import (
    METRICS,
    CreateModelRequest,
    DataSplit,
    DataSplitStats,
    Experiment,
    ExperimentPage,
    ExperimentStats,
    Metrics,
    Model,
    ModelPage,
    ModelStatus,
    PageRequest,
    SplitStatus,
    TrainModelRequest,
    check_outcome,
    get_now,
    make_id,
)
from .training_rules import TrainingFacts, fit_parameters

_T = TypeVar("_T")


def encode(entity: Any) -> str:
    """Return the text of an entity."""
    return msgspec.json.encode(entity, enc_hook=_encode_schema).decode()


def decode(text: str, type: type[_T]) -> _T:
    """Return the entity of a text."""
    return decode_json(text, type=type, hook=_decode_schema)


def _encode_schema(value: Any) -> Any:
    if isinstance(value, Schema):
        return value.to_json()
    raise NotImplementedError(type(value))


def _decode_schema(type: Any, value: Any) -> Any:
    if type is Schema:
        return Schema.parse(value)
    raise NotImplementedError(type)


TRAIN = "train"
TEST = "test"
FEATUREGEN = "featuregen"
MODEL = "model"
TARGET_INDICES = "targetindices"
MLFLOW = "mlflow"


def get_split_folder(folder: Path, experiment: str, split: str) -> Path:
    """Return the folder of a split, with ``train`` and ``test``."""
    return folder / "splits" / _escape(experiment) / split


def get_model_folder(folder: Path, experiment: str, model: str) -> Path:
    """Return the folder of a trained model and what belongs to it."""
    return folder / "models" / _escape(experiment) / model


def list_experiment_folders(folder: Path, experiment: str) -> list[Path]:
    """Return the folders of all splits and models of an experiment."""
    return [folder / kind / _escape(experiment) for kind in ("splits", "models")]


def remove_folder(folder: str | None) -> None:
    """Remove the folder of a model, if it has one, and those above it that have become empty."""
    if folder is None:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        for parent in list(Path(folder).parents)[:2]:
            parent.rmdir()


def _escape(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")


EXPERIMENTS: Final = namespaced_table(
    "experiment_meta",
    fields={"name": FieldType.STRING, "srcpath": FieldType.STRING, "info": FieldType.STRING},
    primary_key=["name"],
    indexes=["srcpath"],
)
MODELS: Final = namespaced_table(
    "experiment_model_meta",
    fields={
        "experiment": FieldType.STRING,
        "id": FieldType.STRING,
        "info": FieldType.STRING,
        "report": FieldType.STRING,
    },
    primary_key=["experiment", "id"],
)
SPLITS: Final = namespaced_table(
    "experiment_splits",
    fields={"experiment": FieldType.STRING, "id": FieldType.STRING, "info": FieldType.STRING},
    primary_key=["experiment", "id"],
)
_TAKES_SPLIT: Final = (
    ModelStatus.PREPARING,
    ModelStatus.SPLIT_FAILED,
    ModelStatus.TRAINING_FAILED,
    ModelStatus.DATA_READY,
)
_GIVES_SPLIT: Final = (
    ModelStatus.SPLIT_FAILED,
    ModelStatus.TRAINING_FAILED,
    ModelStatus.DATA_READY,
)
_BY_SPLIT: Final = {
    SplitStatus.SPLITTING: ModelStatus.SPLITTING,
    SplitStatus.COMPLETE: ModelStatus.DATA_READY,
    SplitStatus.FAILED: ModelStatus.SPLIT_FAILED,
}
T = TypeVar("T")
_E = TypeVar("_E", Experiment, Model, DataSplitStats)


class ExperimentStore:
    """The entities of one namespace, inside a transaction.

    :raises NotFoundError: from every method, when an entity that it names does not exist.
    """

    def __init__(self, tx: TransactionContext, namespace: NamespaceSummary) -> None:
        self._experiments = tx.table(EXPERIMENTS.table)
        self._models = tx.table(MODELS.table)
        self._splits = tx.table(SPLITS.table)
        self._namespace = namespace

    # -- experiments ---------------------------------------------------------------------------

    def list_experiments(self, page: PageRequest, srcpath: str = "") -> ExperimentPage:
        """Return a page of the experiments by name, of all or of those on one path."""
        rows = self._experiments.scan(Range.singleton(self._namespace.key))
        found = [decode(row["info"], Experiment) for row in rows]
        wanted = [each for each in found if not srcpath or each.srcpath == srcpath]
        return ExperimentPage(len(found), page.cut(wanted))

    def list_names(self) -> list[str]:
        """Return the names of all experiments, sorted."""
        rows = self._experiments.scan(Range.singleton(self._namespace.key))
        return [row["name"] for row in rows]

    def put_experiment(self, experiment: Experiment) -> None:
        """Create or replace an experiment; its models and splits stay as they are."""
        self._experiments.upsert(
            self._namespace.key
            | {"name": experiment.name, "srcpath": experiment.srcpath, "info": encode(experiment)}
        )

    def get_experiment(self, name: str) -> Experiment:
        """Return an experiment."""
        found = self.find_experiment(name)
        if found is None:
            raise NotFoundError(f"Experiment '{name}' not found.")
        return found

    def get_stats(self, name: str) -> ExperimentStats:
        """Return an experiment with statistics of its models."""
        experiment, models = self.get_experiment(name), self.list_all_models(name)
        metrics: dict[str, ColumnStats] = {}
        for metric in METRICS:
            values = [getattr(each.evaluation_metrics, metric) for each in models]
            known = [each for each in values if each is not None]
            if known:
                is_part = metric in ("precision", "recall", "f1")
                low, high = (0.0, 1.0) if is_part else (min(known), max(known))
                most = BINS if is_part else min(BINS, len(models))
                metrics[metric] = count_numbers(values, low, high, most)
        return ExperimentStats(
            **msgspec.structs.asdict(experiment),
            evaluation_metrics=metrics,
            algorithms=count_words([each.algorithm for each in models]),
            statuses=count_words([each.status.value for each in models]),
        )

    def delete_experiment(self, name: str) -> tuple[list[str], list[str]]:
        """Delete an experiment with its models and splits.

        :returns: the ids of jobs that may be running, and the folders of models.
        """
        self.get_experiment(name)
        models = self.list_all_models(name)
        jobs = [each.job for each in models if each.job]
        jobs += [each.job for each in self.list_splits(name) if each.job]
        for table in (self._models, self._splits):
            table.delete_all(Range.singleton(self._namespace.key | {"experiment": name}))
        self._experiments.delete(self._namespace.key | {"name": name})
        return jobs, [each.folder for each in models if each.folder]

    def find_experiment(self, name: str) -> Experiment | None:
        row = self._experiments.read(self._namespace.key | {"name": name})
        return None if row is None else decode(row["info"], Experiment)

    # -- splits --------------------------------------------------------------------------------

    def list_splits(self, experiment: str) -> list[DataSplitStats]:
        """Return the splits of an experiment, without their statistics."""
        self.get_experiment(experiment)
        found = self._list(self._splits, experiment, DataSplitStats)
        return [msgspec.structs.replace(each, stats=[]) for each in found]

    def get_split(self, experiment: str, id: str) -> DataSplitStats:
        """Return a split."""
        self.get_experiment(experiment)
        row = self._splits.read(self._key(experiment, id))
        if row is None:
            raise NotFoundError(f"Split '{id}' in experiment '{experiment}' not found.")
        return decode(row["info"], DataSplitStats)

    def add_split(self, experiment: str, split: DataSplit) -> DataSplitStats:
        """Add a split, which is SPLITTING.

        :raises BadRequestError: when its schema does not fit the outcome of the experiment.
        """
        split.check()
        assert split.schema is not None
        check_outcome(self.get_experiment(experiment), split.schema)
        fields = {name: getattr(split, name) for name in DataSplit.__struct_fields__}
        made = DataSplitStats(**fields, id=make_id(), status=SplitStatus.SPLITTING, start=get_now())
        self._put_split(experiment, made)
        return made

    def set_split_job(self, experiment: str, id: str, job: str) -> None:
        """Note the job that makes a split."""
        split = self.get_split(experiment, id)
        split.job = job
        self._put_split(experiment, split)

    def finish_split(
        self,
        experiment: str,
        id: str,
        paths: tuple[str, str],
        stats: list[ColumnSplitStats],
        rows: dict[str, int],
    ) -> None:
        """Make a split COMPLETE, and its models DATA_READY."""
        split = self.get_split(experiment, id)
        split.training_path, split.test_path = paths
        split.stats, split.rows = stats, rows
        self._end_split(experiment, split, SplitStatus.COMPLETE, ModelStatus.DATA_READY)

    def fail_split(self, experiment: str, id: str, error: str | None) -> None:
        """Make a split FAILED, and its models SPLIT_FAILED; do nothing for one that is over."""
        split = self.get_split(experiment, id)
        if split.status is SplitStatus.SPLITTING:
            split.error = error
            self._end_split(experiment, split, SplitStatus.FAILED, ModelStatus.SPLIT_FAILED)

    def delete_split(self, experiment: str, id: str) -> DataSplitStats:
        """Delete a split that no model uses.

        :raises ConflictError: when a model uses it.
        """
        split = self.get_split(experiment, id)
        if split.models:
            raise ConflictError(
                f"Cannot delete split '{id}' since it is used by model(s) '{','.join(split.models)}'."
            )
        self._splits.delete(self._key(experiment, id))
        return split

    def _end_split(
        self, experiment: str, split: DataSplitStats, status: SplitStatus, of_models: ModelStatus
    ) -> None:
        split.status, split.end = status, get_now()
        self._put_split(experiment, split)
        for id in split.models:
            model = self.get_model(experiment, id)
            if model.status is ModelStatus.SPLITTING:
                model.status = of_models
                self._put_model(experiment, model)

    # -- models --------------------------------------------------------------------------------

    def list_models(self, experiment: str, page: PageRequest) -> ModelPage:
        """Return a page of the models of an experiment, by name."""
        found = self.list_all_models(experiment)
        return ModelPage(len(found), page.cut(found))

    def list_all_models(self, experiment: str) -> list[Model]:
        """Return all models of an experiment."""
        self.get_experiment(experiment)
        return list(self._list(self._models, experiment, Model))

    def get_model(self, experiment: str, id: str) -> Model:
        """Return a model."""
        self.get_experiment(experiment)
        row = self._models.read(self._key(experiment, id))
        if row is None:
            raise NotFoundError(f"Model '{id}' in experiment '{experiment}' not found.")
        return decode(row["info"], Model)

    def get_report(self, experiment: str, id: str) -> dict[str, Any]:
        """Return what the training of a model has found; empty before."""
        self.get_model(experiment, id)
        row = self._models.read(self._key(experiment, id))
        return decode_json(row["report"]) if row is not None and row["report"] else {}

    def add_model(self, experiment: str, request: CreateModelRequest) -> Model:
        """Add a model, which is PREPARING, or as its split says.

        :raises BadRequestError: when the request is invalid.
        """
        request.check()
        found = self.get_experiment(experiment)
        model = Model(
            id=make_id(),
            name=str(request.name),
            description=request.description or "",
            createtime=get_now(),
            outcome=str(found.outcome),
            directives=request.directives or [],
        )
        if request.split is not None:
            self._assign(experiment, model, request.split)
        else:
            self._put_model(experiment, model)
        return model

    def set_directives(self, experiment: str, id: str, directives: Sequence[str]) -> None:
        """Set the directives of a model; without any, nothing is changed, as in mmds.

        :raises ConflictError: unless the model is PREPARING.
        """
        model = self.get_model(experiment, id)
        if model.status is not ModelStatus.PREPARING:
            raise ConflictError(
                "Directives can only be set or modified if the model is in the "
                f"{ModelStatus.PREPARING} state."
            )
        if directives:
            model.directives = list(directives)
            self._put_model(experiment, model)

    def set_split(self, experiment: str, id: str, split: str) -> None:
        """Give a model a split.

        :raises ConflictError: when its state does not allow that.
        """
        model = self.get_model(experiment, id)
        if model.status not in _TAKES_SPLIT:
            states = [f"'{each}'" for each in _TAKES_SPLIT]
            raise ConflictError(
                f"Cannot set a split for a model in the '{model.status}' state. The model must be in the "
                f"{', '.join(states[:-1])}, or {states[-1]} state."
            )
        if model.split is not None:
            self._unregister(experiment, model.split, id)
        self._assign(experiment, model, split)

    def unassign_split(self, experiment: str, id: str) -> str | None:
        """Take the split from a model; return its id when it was deleted, since no other model used it.

        :raises ConflictError: when the state of the model does not allow that.
        """
        model = self.get_model(experiment, id)
        if model.status not in _GIVES_SPLIT or model.split is None:
            states = [f"'{each}'" for each in _GIVES_SPLIT]
            raise ConflictError(
                f"Cannot unassign the split for a model in the '{model.status}' state. The model must be in "
                f"the {', '.join(states[:-1])}, or {states[-1]} state."
            )
        split = self.get_split(experiment, model.split)
        model.split, model.status = None, ModelStatus.PREPARING
        self._put_model(experiment, model)
        self._unregister(experiment, split.id, id)
        if len(split.models) > 1:
            return None
        self._splits.delete(self._key(experiment, split.id))
        return split.id

    def train(self, experiment: str, id: str, request: TrainModelRequest) -> Model:
        """Make a model TRAINING, with the hyperparameters that the training will have.

        :raises BadRequestError: when the request is invalid, or does not fit what is known of the data.
        :raises ConflictError: unless the model is DATA_READY.
        """
        request.check()
        model = self.get_model(experiment, id)
        if model.status is not ModelStatus.DATA_READY:
            raise ConflictError(f"Cannot train a model that is in the '{model.status}' state.")
        model.algorithm = request.algorithm
        algorithm = str(request.algorithm)
        hyperparameters = fill_hyperparameters(algorithm, request.hyperparameters or {})
        split = self.get_split(experiment, str(model.split))
        try:
            facts = TrainingFacts.of_split(
                self.get_experiment(experiment), split, request.handle_invalid
            )
            model.hyperparameters = fit_parameters(algorithm, hyperparameters, facts)
        except ValueError as error:
            raise BadRequestError(str(error)) from None
        model.predictions_dataset = request.predictions_dataset or model.predictions_dataset
        model.handle_invalid = request.handle_invalid
        model.status, model.error, model.job = ModelStatus.TRAINING, None, None
        model.trainingtime, model.trainedtime = get_now(), -1
        self._put_model(experiment, model)
        return model

    def set_model_job(self, experiment: str, id: str, job: str) -> None:
        """Note the job that trains a model."""
        model = self.get_model(experiment, id)
        model.job = job
        self._put_model(experiment, model)

    def finish_training(
        self,
        experiment: str,
        id: str,
        metrics: Metrics,
        categorical: Sequence[str],
        skipped: dict[str, int],
        folder: str,
        report: dict[str, Any],
        hyperparameters: Mapping[str, str],
    ) -> None:
        """Make a model TRAINED."""
        model = self.get_model(experiment, id)
        model.hyperparameters = dict(hyperparameters)
        model.evaluation_metrics, model.categorical_features = metrics, list(categorical)
        model.skipped_rows, model.folder = skipped, folder
        model.status, model.trainedtime = ModelStatus.TRAINED, get_now()
        self._put_model(experiment, model, report)

    def fail_training(self, experiment: str, id: str, error: str | None) -> None:
        """Make a model TRAINING_FAILED; do nothing for one that is over."""
        model = self.get_model(experiment, id)
        if model.status is ModelStatus.TRAINING:
            model.status, model.error = ModelStatus.TRAINING_FAILED, error
            model.trainedtime = get_now()
            self._put_model(experiment, model)

    def deploy(self, experiment: str, id: str) -> None:
        """Make a model DEPLOYED, whatever its state; do nothing for one that was deployed."""
        model = self.get_model(experiment, id)
        if model.deploytime <= 0:
            model.status, model.deploytime = ModelStatus.DEPLOYED, get_now()
            self._put_model(experiment, model)

    def delete_model(self, experiment: str, id: str) -> Model:
        """Delete a model; its split stays."""
        model = self.get_model(experiment, id)
        self._models.delete(self._key(experiment, id))
        if model.split is not None:
            self._unregister(experiment, model.split, id)
        return model

    def put_trained(self, experiment: str, model: Model, report: dict[str, Any]) -> None:
        """Add a model that was trained elsewhere, in place of one of the same id, whose files are removed."""
        row = self._models.read(self._key(experiment, model.id))
        if row is not None:
            before = decode(row["info"], Model)
            if before.split is not None:
                self._unregister(experiment, before.split, model.id)
            if before.folder != model.folder:
                remove_folder(before.folder)
        self._put_model(experiment, model, report)

    # -- rows ----------------------------------------------------------------------------------

    def _assign(self, experiment: str, model: Model, split_id: str) -> None:
        split = self.get_split(experiment, split_id)
        assert split.schema is not None
        model.split, model.status = split.id, _BY_SPLIT[split.status]
        model.directives = split.directives or []
        model.features = [name for name in split.schema.field_names if name != model.outcome]
        self._put_model(experiment, model)
        if model.id not in split.models:
            split.models.append(model.id)
            self._put_split(experiment, split)

    def _unregister(self, experiment: str, split_id: str, model: str) -> None:
        row = self._splits.read(self._key(experiment, split_id))
        if row is not None:
            split = decode(row["info"], DataSplitStats)
            split.models = [each for each in split.models if each != model]
            self._put_split(experiment, split)

    def _list(self, table: Any, experiment: str, type: type[_E]) -> list[_E]:
        rows = table.scan(Range.singleton(self._namespace.key | {"experiment": experiment}))
        return [decode(row["info"], type) for row in rows]

    def _key(self, experiment: str, id: str) -> dict[str, Any]:
        return self._namespace.key | {"experiment": experiment, "id": id}

    def _put_split(self, experiment: str, split: DataSplitStats) -> None:
        self._splits.upsert(self._key(experiment, split.id) | {"info": encode(split)})

    def _put_model(
        self, experiment: str, model: Model, report: dict[str, Any] | None = None
    ) -> None:
        row = self._key(experiment, model.id) | {"info": encode(model)}
        if report is not None:
            row["report"] = encode(report)
        self._models.upsert(row)
