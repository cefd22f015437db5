"""The jobs of Analytics on Spark: splitting data, training models, and searching parameters.

The statistics of the columns of training and test data, computed by Spark in three passes at most.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from localcdap.api import Schema
from localcdap.api.app import JobContext, SystemJob
from localcdap.api.sql_names import quote_column

from .features import FeatureColumns
from .histograms import (
    ColumnSplitStats,
    NumericBin,
    NumericSummary,
    compare_numbers,
    compare_words,
    make_bins,
)
from .model import CATEGORICAL, NUMERIC, DataSplitStats, Experiment, Model, get_type_name
from .parameter_search import SearchRequest
from .splitters import split
from .store import TEST, TRAIN, ExperimentStore, get_model_folder, get_split_folder
from .trainer_sink import run_in_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_PART: Final = "_part"
_MOST_WORDS: Final = 1000
"""The most different values of a column that are listed: the most frequent ones."""


def compute_statistics(
    train: DataFrame, test: DataFrame, schema: Schema
) -> tuple[list[ColumnSplitStats], dict[str, int]]:
    """Return the statistics of booleans, texts and numbers, in their order, and the numbers of records."""
    from pyspark.sql import functions as f

    types = {each.name: get_type_name(each.schema) for each in schema}
    words = [name for name, type in types.items() if type in CATEGORICAL]
    numbers = [name for name, type in types.items() if type in NUMERIC]
    both = train.withColumn(_PART, f.lit("train")).unionByName(
        test.withColumn(_PART, f.lit("test"))
    )
    found = _summarize_numbers(both, numbers)
    bins = {name: _make_common_bins(found, name) for name in numbers}
    _count_bins(both, bins, found)
    stats = {name: _compare(found, name, bins[name]) for name in numbers}
    stats |= _count_words(both, words)
    sizes = {part: found[part, ""].total for part in ("train", "test")}
    return [stats[name] for name in types if name in stats], sizes


def _summarize_numbers(
    both: DataFrame, names: Sequence[str]
) -> dict[tuple[str, str], NumericSummary]:
    """Return the summary of each part and column; of the column ``""`` only the number of records."""
    from pyspark.sql import functions as f

    parts: list[Any] = [f.count(f.lit(1)).alias("n")]
    for place, name in enumerate(names):
        value = _number(name)
        parts += [
            f.count(value).alias(f"known{place}"),
            f.count_if(value == 0).alias(f"zero{place}"),
            f.count_if(value > 0).alias(f"positive{place}"),
            f.count_if(value < 0).alias(f"negative{place}"),
            f.min(value).alias(f"min{place}"),
            f.max(value).alias(f"max{place}"),
            f.avg(value).alias(f"mean{place}"),
            f.var_pop(value).alias(f"variance{place}"),
        ]
    rows = {row[_PART]: row for row in both.groupBy(_PART).agg(*parts).collect()}
    found: dict[tuple[str, str], NumericSummary] = {}
    for part in ("train", "test"):
        row = rows.get(part)
        found[part, ""] = NumericSummary(total=row["n"] if row else 0)
        for place, name in enumerate(names):
            found[part, name] = NumericSummary()
            if row is not None:
                values = {
                    key: row[f"{key}{place}"]
                    for key in ("zero", "positive", "negative", "min", "max", "mean", "variance")
                }
                known = row[f"known{place}"]
                found[part, name] = NumericSummary(total=row["n"], null=row["n"] - known, **values)
    return found


def _make_common_bins(found: dict[tuple[str, str], NumericSummary], name: str) -> list[NumericBin]:
    both = [found["train", name], found["test", name]]
    known = [each for each in both if each.min is not None and each.max is not None]
    if not known:
        return []
    return make_bins(min(each.min or 0.0 for each in known), max(each.max or 0.0 for each in known))


def _count_bins(
    both: DataFrame, bins: dict[str, list[NumericBin]], found: dict[tuple[str, str], NumericSummary]
) -> None:
    from pyspark.sql import functions as f

    parts = []
    for place, (name, of_column) in enumerate(bins.items()):
        value = _number(name)
        for number, each in enumerate(of_column):
            end = value <= each.high if each.is_last else value < each.high
            parts.append(f.count_if((value >= each.low) & end).alias(f"{place}_{number}"))
    rows = {row[_PART]: row for row in both.groupBy(_PART).agg(*parts).collect()} if parts else {}
    for part in ("train", "test"):
        row = rows.get(part)
        for place, (name, of_column) in enumerate(bins.items()):
            counts = [row[f"{place}_{n}"] if row else 0 for n in range(len(of_column))]
            found[part, name].counts = counts


def _compare(
    found: dict[tuple[str, str], NumericSummary], name: str, bins: list[NumericBin]
) -> ColumnSplitStats:
    return compare_numbers(name, found["train", name], found["test", name], bins)


def _count_words(both: DataFrame, names: Sequence[str]) -> dict[str, ColumnSplitStats]:
    """Return the statistics of columns of words; the least frequent of very many are left out."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    if not names:
        return {}
    pairs = f.array(
        *[
            f.struct(
                f.lit(place).alias("place"), f.col(quote_column(name)).cast("string").alias("word")
            )
            for place, name in enumerate(names)
        ]
    )
    long = both.select(_PART, f.explode(pairs).alias("pair")).select(
        _PART, "pair.place", "pair.word"
    )
    by_word = long.groupBy("place", "word").agg(
        f.count_if(f.col(_PART) == "train").alias("train"),
        f.count_if(f.col(_PART) == "test").alias("test"),
    )
    frequent = Window.partitionBy("place").orderBy(f.desc(f.col("train") + f.col("test")), "word")
    rows = by_word.withColumn("rank", f.row_number().over(frequent)).filter(
        f.col("rank") <= _MOST_WORDS
    )
    counts: dict[str, tuple[dict[str | None, int], dict[str | None, int]]] = {
        name: ({}, {}) for name in names
    }
    for row in rows.collect():
        train, test = counts[names[row["place"]]]
        if row["train"]:
            train[row["word"]] = row["train"]
        if row["test"]:
            test[row["word"]] = row["test"]
    return {name: compare_words(name, *each) for name, each in counts.items()}


def _number(name: str) -> Any:
    """The column as a double; NaN counts as null."""
    from pyspark.sql import functions as f

    value = f.col(quote_column(name)).cast("double")
    return f.when(~f.isnan(value), value)


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
                trained.hyperparameters,
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
