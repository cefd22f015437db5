"""Models that pipelines have trained, between the end of the training and the commit of the run.

A sink cannot know whether its run will commit. It notes the model here, and writes its files where they
appear with the commit; from then on the model is one of its experiment.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from localcdap.api.app import (
    ConflictError,
    FieldType,
    NamespaceSummary,
    Range,
    StructuredTableSpecification,
    TransactionContext,
    TransactionRunner,
    decode_json,
)

from .model import Experiment, Model, get_now
from .store import EXPERIMENTS, MODEL, MODELS, ExperimentStore, decode, encode

T = TypeVar("T")
_FIELDS: Final = ("namespace", "experiment", "id", "run", "outcomeType", "info", "report")
COMMITS: Final = StructuredTableSpecification(
    "experiment_model_commits",
    fields=dict.fromkeys(_FIELDS, FieldType.STRING),
    primary_key=["namespace", "experiment", "id", "run"],
)
"""It has no generation, which runs do not know: a row that is older than its namespace is obsolete."""
_LONGEST_RUN_MS: Final = 7 * 86_400_000
"""After this time a run that has not committed a model will not do so."""
_SOURCE: Final = "pipeline"
"""What stands in place of the source of an experiment that a pipeline has made."""


def run_in_store(
    transactions: TransactionRunner,
    namespace: NamespaceSummary,
    work: Callable[[ExperimentStore], T],
) -> T:
    """Run work on the store of a namespace as one transaction, which sees the models of pipelines."""

    def run(tx: TransactionContext) -> T:
        store = ExperimentStore(tx, namespace)
        _take_over(tx, namespace, store)
        return work(store)

    return transactions.run(run)


def find_model(tx: TransactionContext, namespace: str, experiment: str, id: str) -> Model | None:
    """Return a model by the name of its namespace, of a pipeline too; None when there is none."""
    key = {"namespace": namespace, "experiment": experiment, "id": id}
    rows = tx.table(COMMITS.table).scan(Range.singleton(key))
    committed = [model for row in rows if has_files(model := decode(row["info"], Model))]
    if committed:
        return max(committed, key=lambda model: model.createtime)
    found = [
        row
        for row in tx.table(MODELS.table).scan(Range.singleton({"namespace": namespace}))
        if (row["experiment"], row["id"]) == (experiment, id)
    ]
    return decode(max(found, key=lambda row: row["generation"])["info"], Model) if found else None


def has_files(model: Model) -> bool:
    """Return whether the files of a trained model are in its folder."""
    return model.folder is not None and (Path(model.folder) / MODEL / "metadata").is_dir()


def check_new(
    tx: TransactionContext, namespace: str, experiment: str, model: Model, *, overwrite: bool
) -> None:
    """Check that a pipeline may train a model.

    :raises ConflictError: when the model exists and is not to be overwritten, or the experiment predicts
        something else.
    """
    rows = tx.table(EXPERIMENTS.table).scan(Range.singleton({"namespace": namespace}))
    named = [row for row in rows if row["name"] == experiment]
    if named:
        newest = decode(max(named, key=lambda row: row["generation"])["info"], Experiment)
        if newest.outcome != model.outcome:
            raise ConflictError(
                f"Experiment '{experiment}' predicts '{newest.outcome}', not '{model.outcome}'."
            )
    if not overwrite and find_model(tx, namespace, experiment, model.id) is not None:
        raise ConflictError(
            f"Model '{model.id}' in experiment '{experiment}' already exists. Set overwrite to true to "
            "replace it."
        )


def add_commit(
    tx: TransactionContext,
    namespace: str,
    experiment: Experiment,
    model: Model,
    report: dict[str, Any],
    run: str,
) -> None:
    """Note a model that a pipeline has trained, which counts from the commit of the run on."""
    tx.table(COMMITS.table).upsert(
        {
            "namespace": namespace,
            "experiment": experiment.name,
            "id": model.id,
            "run": run,
            "outcomeType": experiment.outcome_type,
            "info": encode(model),
            "report": encode(report),
        }
    )


def _take_over(tx: TransactionContext, namespace: NamespaceSummary, store: ExperimentStore) -> None:
    """Make the models of runs that have committed models of their experiments."""
    table = tx.table(COMMITS.table)
    rows = list(table.scan(Range.singleton({"namespace": namespace.name})))
    noted = [(decode(row["info"], Model), row) for row in rows]
    for model, row in sorted(noted, key=lambda each: each[0].createtime):
        name, is_old = row["experiment"], get_now() - model.createtime > _LONGEST_RUN_MS
        is_obsolete = model.createtime < namespace.generation or (is_old and not has_files(model))
        if has_files(model) and not is_obsolete:
            if store.find_experiment(name) is None:
                store.put_experiment(
                    Experiment(
                        name=name,
                        srcpath=_SOURCE,
                        outcome=model.outcome,
                        outcome_type=row["outcomeType"],
                    )
                )
            store.put_trained(name, model, decode_json(row["report"]))
        elif not is_obsolete:
            continue
        table.delete({key: row[key] for key in COMMITS.primary_key})
