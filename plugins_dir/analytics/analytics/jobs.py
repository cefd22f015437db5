"""The jobs of Analytics on Spark: splitting data, training models, and searching parameters."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from localcdap.api.app import JobContext, SystemJob
from localcdap.api.sql_names import quote_column

from .commits import run_in_store
from .features import FeatureColumns
from .model import DataSplitStats, Experiment, Model
from .places import TEST, TRAIN, get_model_folder, get_split_folder
from .search_model import SearchRequest
from .splitters import split
from .statistics import compute_statistics
from .store import ExperimentStore

T = TypeVar("T")


class SplitData(SystemJob):
    """Prepares the data of an experiment with the directives of a split, and splits it.

    Arguments: ``experiment``, ``split``. The pipeline gives the prepared data.
    """

    name = "split"

    def run(self, context: JobContext) -> Any:
        experiment, id = context.arguments["experiment"], context.arguments["split"]
        found: tuple[Experiment, DataSplitStats] = _run(
            context,
            lambda store: (store.get_experiment(experiment), store.get_split(experiment, id)),
        )
        outcome, made = found
        folder = get_split_folder(context.open_folder(), experiment, id)
        return _clean_up_after(folder, lambda: self._split(context, outcome, made, folder))

    def _split(
        self, context: JobContext, experiment: Experiment, made: DataSplitStats, folder: Path
    ) -> Any:
        assert made.schema is not None
        context.report("preparing the data", 0.1)
        data = context.read_input().select(*map(quote_column, made.schema.field_names)).cache()
        try:
            context.report("splitting", 0.3)
            train, test = split(str(made.type), made.params, data, str(experiment.outcome))
            paths = str(folder / TRAIN), str(folder / TEST)
            train.write.mode("overwrite").parquet(paths[0])
            test.write.mode("overwrite").parquet(paths[1])
        finally:
            data.unpersist()
        context.report("computing statistics", 0.7)
        read = context.spark.read
        stats, sizes = compute_statistics(
            read.parquet(paths[0]), read.parquet(paths[1]), made.schema
        )
        if not sizes["train"] or not sizes["test"]:
            empty = "training" if not sizes["train"] else "test"
            raise ValueError(
                f"The split has no {empty} data: of {sum(sizes.values())} records, {sizes['train']} are "
                f"training and {sizes['test']} test data. Check the directives, or change the percentage."
            )
        rows = {**_count_rows(context), **sizes}
        _run(
            context, lambda store: store.finish_split(experiment.name, made.id, paths, stats, rows)
        )
        return rows


class TrainModel(SystemJob):
    """Trains a model on the training data of its split, and evaluates it on the test data.

    Arguments: ``experiment``, ``model``.
    """

    name = "train"

    def run(self, context: JobContext) -> Any:
        name, id = context.arguments["experiment"], context.arguments["model"]

        def read(store: ExperimentStore) -> tuple[Experiment, Model, DataSplitStats]:
            model = store.get_model(name, id)
            return store.get_experiment(name), model, store.get_split(name, str(model.split))

        experiment, model, made = _run(context, read)
        folder = get_model_folder(context.open_folder(), name, id)
        return _clean_up_after(
            folder, lambda: self._train(context, experiment, model, made, folder)
        )

    def _train(
        self,
        context: JobContext,
        experiment: Experiment,
        model: Model,
        made: DataSplitStats,
        folder: Path,
    ) -> Any:
        from .model_trainer import Training, TrainingPlan

        assert made.schema is not None
        plan = TrainingPlan(
            algorithm=str(model.algorithm),
            hyperparameters=model.hyperparameters,
            schema=made.schema,
            outcome=str(experiment.outcome),
            is_class=experiment.is_categorical,
            columns=FeatureColumns.of(made.schema, str(experiment.outcome)),
            handle_invalid=model.handle_invalid,
            stats=made.stats,
        )
        parts = [
            context.spark.read.parquet(str(path)) for path in (made.training_path, made.test_path)
        ]
        trained = Training(plan, context.report, context.logger).run(*parts)
        trained.save(folder)
        if model.predictions_dataset is not None:
            place = context.open_folder() / "predictions" / model.predictions_dataset
            trained.write_predictions(f"{place}/model={model.id}/experiment={experiment.name}")
        evaluated = trained.count_evaluated()
        skipped = {"test": made.rows.get("test", evaluated) - evaluated}
        _run(
            context,
            lambda store: store.finish_training(
                experiment.name,
                model.id,
                trained.metrics,
                plan.columns.categorical,
                skipped,
                str(folder),
                trained.report,
            ),
        )
        return {"skippedRows": skipped}


class SearchParameters(SystemJob):
    """Searches the best parameters of an algorithm on the training data of a split.

    Arguments: ``experiment``, ``split``, ``request`` (a :class:`SearchRequest`).
    """

    name = "search"

    def run(self, context: JobContext) -> Any:
        from .parameter_search import search_parameters

        name, id = context.arguments["experiment"], context.arguments["split"]
        experiment, made = _run(
            context, lambda store: (store.get_experiment(name), store.get_split(name, id))
        )
        request = msgspec.convert(context.arguments["request"], SearchRequest)
        return search_parameters(context, experiment, made, request)


def _clean_up_after(folder: Path, work: Callable[[], Any]) -> Any:
    """Do some work; when it fails or is stopped, remove what it has written."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        return work()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _count_rows(context: JobContext) -> dict[str, int]:
    """Return the numbers of records that were read, and that the directives have prepared."""
    counts = context.count_input()
    read = next(iter(counts.values()))["out"]
    return {"read": read, "prepared": list(counts.values())[-1]["in"]}


def _run(context: JobContext, work: Callable[[ExperimentStore], T]) -> T:
    return run_in_store(context.transactions, context.namespace, work)
