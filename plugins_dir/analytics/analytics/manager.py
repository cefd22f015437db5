"""What the service does beyond its tables: it submits and stops jobs, and removes files.

The pipeline that prepares the data of a split: a source, and the directives as a stage of Wrangler.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from localcdap.api import Schema
from localcdap.api.app import (
    ConflictError,
    JobDetail,
    JobRequest,
    NamespaceSummary,
    NotFoundError,
    SystemContext,
)
from localcdap.api.errors import LocalcdapError

from .jobs import SearchParameters, SplitData, TrainModel
from .model import (
    DataSplit,
    DataSplitStats,
    Experiment,
    Model,
    ModelStatus,
    SplitStatus,
    TrainModelRequest,
)
from .parameter_search import SearchRequest
from .store import (
    ExperimentStore,
    get_model_folder,
    get_split_folder,
    list_experiment_folders,
    remove_folder,
)
from .trainer_sink import run_in_store

TABLE: Final = "table:"
"""The beginning of a source that is a table of the namespace."""
_FORMATS: Final = {
    "csv": "csv",
    "tsv": "tsv",
    "json": "json",
    "jsonl": "json",
    "parquet": "parquet",
    "avro": "avro",
    "orc": "orc",
}
_LINE: Final = '{"type":"record","name":"line","fields":[{"name":"body","type":["string","null"]}]}'


def create_pipeline(experiment: Experiment, split: DataSplit) -> dict[str, Any]:
    """Return the pipeline of a split.

    As in mmds a file is read as lines, in the field ``body``. A file of another format than text, without
    directives, is read in its format, a CSV file with a header; a table has the columns that it has. An
    experiment with properties of its source has it read as they say, also with directives.
    """
    assert split.schema is not None
    directives = split.directives or []
    stages = [_make_source(experiment, split.schema, is_text=bool(directives))]
    if directives:
        stages.append(
            _make_stage(
                "prepare",
                "transform",
                "Wrangler",
                {
                    "field": "*",
                    "precondition": "false",
                    "threshold": "-1",
                    "on-error": "skip-error",
                    "directives": "\n".join(directives),
                    "schema": json.dumps(split.schema.to_json()),
                },
            )
        )
    stages.append(_make_stage("split", "batchsink", "Trash", {}))
    names = [each["name"] for each in stages]
    return {
        "name": experiment.name,
        "artifact": {"name": "cdap-data-pipeline", "version": "6.10.1", "scope": "SYSTEM"},
        "config": {
            "stages": stages,
            "connections": [{"from": a, "to": b} for a, b in pairwise(names)],
        },
    }


def _make_source(experiment: Experiment, schema: Schema, *, is_text: bool) -> dict[str, Any]:
    path, given = str(experiment.srcpath), experiment.source_properties
    if path.startswith(TABLE):
        table = {"name": path.removeprefix(TABLE)}
        if not is_text:
            table["schema"] = json.dumps(schema.to_json())
        return _make_stage("read", "batchsource", "Table", table)
    if given:
        schema_text = json.dumps(schema.to_json())
        properties = {"schema": schema_text, **given, "path": path, "referenceName": "experiment"}
        return _make_stage("read", "batchsource", "File", properties)
    format = "text" if is_text else _FORMATS.get(path.rpartition(".")[2].lower(), "text")
    properties = {"path": path, "referenceName": "experiment", "format": format}
    if format == "text":
        properties["schema"] = _LINE
    else:
        properties["schema"] = json.dumps(schema.to_json())
    if format in ("csv", "tsv"):
        properties |= {"skipHeader": "true", "enableQuotedValues": "true", "doubledQuotes": "true"}
    return _make_stage("read", "batchsource", "File", properties)


def _make_stage(name: str, type: str, plugin: str, properties: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "plugin": {"name": plugin, "type": type, "properties": properties}}


T = TypeVar("T")
_ENDED = "The application was ended before it had submitted the job. Try again."


class ModelManager:
    """Manages the entities of all namespaces. Threads may share it."""

    def __init__(self, context: SystemContext) -> None:
        self._context = context

    def run(self, namespace: NamespaceSummary, work: Callable[[ExperimentStore], T]) -> T:
        """Run work on the store of a namespace as one transaction."""
        return run_in_store(self._context.transactions, namespace, work)

    def add_split(self, namespace: NamespaceSummary, experiment: str, split: DataSplit) -> str:
        """Add a split and submit its job; return the id of the split."""
        made = self.run(namespace, lambda store: store.add_split(experiment, split))
        self._submit_split(namespace, experiment, made.id)
        return str(made.id)

    def split_for_model(
        self, namespace: NamespaceSummary, experiment: str, model: str, split: DataSplit
    ) -> None:
        """Add a split for a model, with the model's directives when it has none, and submit its job."""

        def add(store: ExperimentStore) -> str:
            found = store.get_model(experiment, model)
            if not split.directives:
                split.directives = found.directives
            made = store.add_split(experiment, split)
            store.set_split(experiment, model, made.id)
            return made.id

        self._submit_split(namespace, experiment, self.run(namespace, add))

    def train(
        self, namespace: NamespaceSummary, experiment: str, model: str, request: TrainModelRequest
    ) -> None:
        """Make a model TRAINING and submit its job."""
        made = self.run(namespace, lambda store: store.train(experiment, model, request))
        asked = JobRequest(
            namespace.name,
            TrainModel.name,
            {"experiment": experiment, "model": model},
            title=f"Train model '{made.name}' of experiment '{experiment}'",
            profile=request.profile,
        )
        try:
            job = self._context.submit(asked)
        except LocalcdapError as error:
            text = error.full_message
            self.run(namespace, lambda store: store.fail_training(experiment, model, text))
            return
        self.run(namespace, lambda store: store.set_model_job(experiment, model, job))

    def _submit_split(self, namespace: NamespaceSummary, experiment: str, split: str) -> None:
        """Submit the job of a split; when the pipeline is not valid, the split has failed (as in mmds)."""
        found, made = self.run(
            namespace,
            lambda store: (store.get_experiment(experiment), store.get_split(experiment, split)),
        )
        asked = JobRequest(
            namespace.name,
            SplitData.name,
            {"experiment": experiment, "split": split},
            title=f"Split the data of experiment '{experiment}'",
            pipeline=create_pipeline(found, made),
        )
        try:
            job = self._context.submit(asked)
        except LocalcdapError as error:
            text = error.full_message
            self.run(namespace, lambda store: store.fail_split(experiment, split, text))
            return
        self.run(namespace, lambda store: store.set_split_job(experiment, split, job))

    def get_job(self, namespace: NamespaceSummary, experiment: str, model: str) -> JobDetail:
        """Return the job that trains a model, or that makes its split.

        :raises NotFoundError: when it has none.
        """

        def find(store: ExperimentStore) -> str | None:
            found = store.get_model(experiment, model)
            if found.job is not None or found.split is None:
                return found.job
            return store.get_split(experiment, found.split).job

        id = self.run(namespace, find)
        if id is None:
            raise NotFoundError(f"Model '{model}' in experiment '{experiment}' has no job.")
        return self._context.get_job(namespace.name, id)

    def search(
        self, namespace: NamespaceSummary, experiment: str, split: str, request: SearchRequest
    ) -> str:
        """Submit a search of parameters, and return the id of its job.

        :raises BadRequestError: when the request is invalid.
        :raises ConflictError: when the split is not complete.
        """
        found, made = self.run(
            namespace,
            lambda store: (store.get_experiment(experiment), store.get_split(experiment, split)),
        )
        request.check(found)
        if made.status is not SplitStatus.COMPLETE:
            raise ConflictError(f"Cannot search with a split that is in the '{made.status}' state.")
        request.check_data(found, made)
        return self._context.submit(
            JobRequest(
                namespace.name,
                SearchParameters.name,
                {"experiment": experiment, "split": split, "request": msgspec.to_builtins(request)},
                title=f"Search parameters of '{request.algorithm}' for experiment '{experiment}'",
                profile=request.profile,
            )
        )

    def list_searches(self, namespace: NamespaceSummary, experiment: str) -> list[JobDetail]:
        """Return the searches on the splits of an experiment, newest first; old ones are not kept."""
        return self._list_searches(namespace, self._list_complete(namespace, experiment))

    def _list_complete(self, namespace: NamespaceSummary, experiment: str) -> list[str]:
        """Return the ids of the splits on which searches may run: those that a job has made."""
        splits = self.run(namespace, lambda store: store.list_splits(experiment))
        return [each.id for each in splits if _may_have_searches(each)]

    def _list_searches(self, namespace: NamespaceSummary, splits: Sequence[str]) -> list[JobDetail]:
        jobs = self._context.list_jobs(namespace.name) if splits else []
        return [
            each
            for each in jobs
            if each.job == SearchParameters.name and each.arguments["split"] in splits
        ]

    def unassign_split(self, namespace: NamespaceSummary, experiment: str, model: str) -> None:
        """Take the split from a model, and remove it when no other model uses it."""
        deleted = self.run(namespace, lambda store: store.unassign_split(experiment, model))
        if deleted is not None:
            self._remove(namespace, [get_split_folder(self._open(namespace), experiment, deleted)])

    def delete_split(self, namespace: NamespaceSummary, experiment: str, split: str) -> None:
        """Delete a split with its files."""
        found = self.run(namespace, lambda store: store.delete_split(experiment, split))
        if _may_have_searches(found):
            self._stop(namespace, [e.id for e in self._list_searches(namespace, [split])])
        if found.status is SplitStatus.SPLITTING:
            self._stop(namespace, [found.job])
        self._remove(namespace, [get_split_folder(self._open(namespace), experiment, split)])

    def delete_model(self, namespace: NamespaceSummary, experiment: str, model: str) -> None:
        """Delete a model with its files."""
        found: Model = self.run(namespace, lambda store: store.delete_model(experiment, model))
        if found.status is ModelStatus.TRAINING:
            self._stop(namespace, [found.job])
        self._remove(namespace, [get_model_folder(self._open(namespace), experiment, model)])
        remove_folder(found.folder)

    def delete_experiment(self, namespace: NamespaceSummary, experiment: str) -> None:
        """Delete an experiment with its models, splits and files."""
        splits = self._list_complete(namespace, experiment)
        jobs, folders = self.run(namespace, lambda store: store.delete_experiment(experiment))
        self._stop(namespace, [*jobs, *(e.id for e in self._list_searches(namespace, splits))])
        self._remove(namespace, list_experiment_folders(self._open(namespace), experiment))
        for folder in folders:
            remove_folder(folder)

    def end_abandoned(self) -> None:
        """Make failed what an earlier process of the application has left without a job."""
        for namespace in self._context.list_namespaces():
            self.run(namespace, _end_abandoned)

    def _open(self, namespace: NamespaceSummary) -> Path:
        return self._context.open_folder(namespace.name)

    def _stop(self, namespace: NamespaceSummary, jobs: Iterable[str | None]) -> None:
        for job in jobs:
            if job is not None:
                try:
                    self._context.stop_job(namespace.name, job)
                except NotFoundError:  # an old job, which is not kept any more
                    continue

    def _remove(self, namespace: NamespaceSummary, folders: Iterable[Path]) -> None:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _may_have_searches(split: DataSplitStats) -> bool:
    return split.status is SplitStatus.COMPLETE and split.job is not None


def _end_abandoned(store: ExperimentStore) -> None:
    for name in store.list_names():
        for split in store.list_splits(name):
            if split.status is SplitStatus.SPLITTING and split.job is None:
                store.fail_split(name, split.id, _ENDED)
        for model in store.list_all_models(name):
            if model.status is ModelStatus.TRAINING and model.job is None:
                store.fail_training(name, model.id, _ENDED)
