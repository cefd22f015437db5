"""ModelTrainer: trains a model of an experiment inside of a pipeline.

It is the sink that mmds had before its application; rules and texts are those of its manual
(``ModelTrainer-sparksink.md``, ``TrainerConf``, ``MLConf``).

A sink cannot know whether its run will commit. It notes the model here, and writes its files where they
appear with the commit; from then on the model is one of its experiment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from localcdap.api import (
    PluginConfig,
    PrepareContext,
    Schema,
    SinkContext,
    SparkSink,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.app import (
    BadRequestError,
    ConflictError,
    FieldType,
    NamespaceSummary,
    Range,
    StructuredTableSpecification,
    TransactionContext,
    TransactionRunner,
    decode_json,
)

from .algorithms import ALGORITHMS, fill_hyperparameters
from .features import FeatureColumns
from .model import (
    CATEGORICAL,
    NUMERIC,
    Experiment,
    Model,
    ModelStatus,
    get_now,
    get_type_name,
)
from .model_trainer import TrainedModel, Training, TrainingPlan
from .store import EXPERIMENTS, MODEL, MODELS, ExperimentStore, decode, encode
from .training_rules import TrainingFacts, fit_parameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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


_FILE_SET: Final = "fileSet"
_ID: Final = re.compile(r"[A-Za-z0-9._-]+")


@plugin(
    name="ModelTrainer",
    description="Trains a model of Analytics, which MLPredictor uses; part of the records test it.",
)
class ModelTrainer(SparkSink):
    class Config(PluginConfig, macros=True, rename="camel"):
        experiment_id: str = field("The name of the experiment; it is created when it is missing.")
        model_id: str = field("The id of the model, which is unique in its experiment.")
        model_description: str | None = field("What the model is for.", default=None)
        outcome_field: str = field(
            "The field that is to be predicted. Records in which it is null are left out.",
            form="{input-field}",
        )
        outcome_is_categorical: bool = field(
            "Whether the outcome is a class; strings and booleans always are.", default=False
        )
        algorithm: str = field("The algorithm.", choices=[each.id for each in ALGORITHMS])
        training_parameters: str | None = field(
            'The parameters of the algorithm that differ from their defaults, as JSON: {"maxDepth": "7"}.',
            default=None,
            syntax="json",
        )
        feature_whitelist: list[str] | None = field(
            "The fields that are features; by default all but the outcome.",
            default=None,
            form="{input-field},",
        )
        feature_blacklist: list[str] | None = field(
            "The fields that are left out of the features.", default=None, form="{input-field},"
        )
        categorical_features: list[str] | None = field(
            "Numbers that are categories; strings and booleans always are.",
            default=None,
            form="{input-field},",
        )
        test_split_percentage: int = field(
            "The percentage of the records that test the model, from 1 to 99.", default=10
        )
        overwrite: bool = field("Whether a model with this id is replaced.", default=False)
        predictions_dataset: str | None = field(
            "The name of a file set for the predictions of the test records, as CSV.", default=None
        )
        predictions_dataset_delimiter: str = field(
            "The character between the fields of predictions.", default=","
        )
        model_dataset: str = field("The name of the file set with the models.", default="models")
        model_meta_dataset: str = field(
            "Not used here: what is known about models is in Analytics.", default="modelmeta"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        self._check_values(stage)
        if not config.contains_macro("modelDataset"):
            stage.create_dataset(
                config.model_dataset, _FILE_SET, {}, config_property="modelDataset"
            )
        if config.predictions_dataset and not config.contains_macro("predictionsDataset"):
            stage.create_dataset(
                config.predictions_dataset, _FILE_SET, {}, config_property="predictionsDataset"
            )
        schema = stage.input_schema
        if schema is not None and not config.contains_macro("outcomeField"):
            self._check_outcome(stage, schema)
            self._check_features(stage, schema)

    def _check_values(self, stage: StageConfigurer) -> None:
        config = self.config
        for property, value in (
            ("experimentId", config.experiment_id),
            ("modelId", config.model_id),
        ):
            if not config.contains_macro(property) and not _ID.fullmatch(value):
                stage.failures.add(
                    f"'{value}' is not an id: use letters, digits, '.', '_' and '-'."
                ).with_config_property(property)
        names = config.model_dataset, config.model_meta_dataset
        if names[0] == names[1] and not any(
            map(config.contains_macro, ("modelDataset", "modelMetaDataset"))
        ):
            stage.failures.add(
                "The model dataset and model meta dataset cannot have the same name."
            ).with_config_property("modelDataset")
        if not 1 <= config.test_split_percentage <= 99 and not config.contains_macro(
            "testSplitPercentage"
        ):
            stage.failures.add(
                f"The percentage of test records is {config.test_split_percentage}, but must be from 1 to 99."
            ).with_config_property("testSplitPercentage")
        if not any(map(config.contains_macro, ("algorithm", "trainingParameters"))):
            try:
                self._get_hyperparameters()
            except (ValueError, BadRequestError) as error:
                stage.failures.add(str(error)).with_config_property("trainingParameters")

    def _check_outcome(self, stage: StageConfigurer, schema: Schema) -> None:
        name = self.config.outcome_field
        found = schema.field(name)
        if found is None:
            stage.failures.add(
                f"Outcome field '{name}' does not exist in the input schema.",
                f"Use one of: {', '.join(schema.field_names)}.",
            ).with_config_property("outcomeField")
            return
        type = get_type_name(found.schema)
        if type not in (*CATEGORICAL, *NUMERIC):
            stage.failures.add(
                f"Outcome field '{name}' is of type '{type}'.",
                "Must be a boolean, a string or a number.",
            ).with_config_property("outcomeField").with_input_field(name)
        elif not any(
            map(
                self.config.contains_macro,
                ("algorithm", "outcomeIsCategorical", "trainingParameters"),
            )
        ):
            self._check_training(stage, name, is_class=self._is_class(schema))

    def _check_training(self, stage: StageConfigurer, outcome: str, *, is_class: bool) -> None:
        facts = TrainingFacts(outcome=outcome, is_class=is_class)
        try:
            values = self._get_hyperparameters()
        except (ValueError, BadRequestError):
            return  # told by _check_values
        try:
            fit_parameters(self.config.algorithm, values, facts)
        except ValueError as error:
            failure = stage.failures.add(str(error)).with_config_property("algorithm")
            failure.with_config_property("trainingParameters")

    def _check_features(self, stage: StageConfigurer, schema: Schema) -> None:
        config = self.config
        if config.feature_whitelist and config.feature_blacklist:
            failure = stage.failures.add(
                "A feature whitelist must not be specified if a feature blacklist is specified."
            )
            failure.with_config_property("featureWhitelist")
            failure.with_config_property("featureBlacklist")
            return
        for property in ("featureWhitelist", "featureBlacklist", "categoricalFeatures"):
            attribute = re.sub("([A-Z])", r"_\1", property).lower()
            for name in getattr(config, attribute) or []:
                if schema.field(name) is None:
                    stage.failures.add(
                        f"Field '{name}' does not exist in the input schema.",
                        f"Use some of: {', '.join(schema.field_names)}.",
                    ).with_config_property(property, element=name)
        if not any(map(config.contains_macro, ("featureWhitelist", "featureBlacklist"))):
            try:
                self._find_columns(schema)
            except ValueError as error:
                stage.failures.add(str(error)).with_config_property("featureWhitelist")

    def prepare_run(self, context: PrepareContext) -> None:
        """Check that the model may be trained, before anything is read."""
        config = self.config
        model = self._describe()
        context.transactions.run(
            lambda tx: check_new(
                tx, context.namespace, config.experiment_id, model, overwrite=config.overwrite
            )
        )

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config, schema = self.config, context.input_schema
        if context.is_remote:
            raise context.fail(
                "A model cannot be saved from a cluster, which does not see this machine."
            )
        files = context.create_dataset(config.model_dataset, _FILE_SET, {})
        if files is None:
            raise context.fail("The model cannot be saved: this run has no host.")
        plan, percent = self._make_plan(schema), config.test_split_percentage
        data = df.cache()
        try:
            parts = data.randomSplit([100.0 - percent, float(percent)])
            trained = Training(plan, _log_nothing, context.logger).run(*parts)
            folder = Path(files.folder) / config.experiment_id / config.model_id / context.run_id
            trained.save(Path(context.staging_directory(str(folder))))
            self._write_predictions(trained, context)
        except ValueError as error:
            raise context.fail(str(error)) from None
        finally:
            data.unpersist()
        self._add_commit(trained, str(folder), context)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        """Make what features are made of, without training."""
        plan = self._make_plan(context.input_schema)
        cleaned = plan.columns.clean(df, [plan.outcome])
        cleaned.write.format("noop").mode("overwrite").save()

    def _write_predictions(self, trained: TrainedModel, context: SinkContext) -> None:
        config = self.config
        if config.predictions_dataset is None:
            return
        files = context.create_dataset(config.predictions_dataset, _FILE_SET, {})
        if files is not None:
            part = f"model={config.model_id}/experiment={config.experiment_id}/run={context.run_id}"
            staged = context.staging_directory(f"{files.folder}/{part}")
            trained.write_predictions(staged, config.predictions_dataset_delimiter)

    def _add_commit(self, trained: TrainedModel, folder: str, context: SinkContext) -> None:
        plan, model = trained.plan, self._describe()
        model.features, model.categorical_features = plan.columns.names, plan.columns.categorical
        model.evaluation_metrics, model.folder = trained.metrics, folder
        model.hyperparameters = dict(trained.hyperparameters)
        model.status, model.trainedtime = ModelStatus.TRAINED, get_now()
        experiment = Experiment(
            name=self.config.experiment_id,
            outcome=plan.outcome,
            outcome_type="string" if plan.is_class else "double",
        )
        context.transactions.run(
            lambda tx: add_commit(
                tx, context.namespace, experiment, model, trained.report, context.run_id
            )
        )

    def _describe(self) -> Model:
        """Return the model before its training."""
        config, now = self.config, get_now()
        return Model(
            name=config.model_id,
            id=config.model_id,
            description=config.model_description or "",
            algorithm=config.algorithm,
            hyperparameters=self._get_hyperparameters(),
            predictions_dataset=config.predictions_dataset,
            outcome=config.outcome_field,
            createtime=now,
            trainingtime=now,
        )

    def _make_plan(self, schema: Schema) -> TrainingPlan:
        config = self.config
        return TrainingPlan(
            algorithm=config.algorithm,
            hyperparameters=self._get_hyperparameters(),
            schema=schema,
            outcome=config.outcome_field,
            is_class=self._is_class(schema),
            columns=self._find_columns(schema),
        )

    def _is_class(self, schema: Schema) -> bool:
        found = schema.field(self.config.outcome_field)
        assert found is not None
        return self.config.outcome_is_categorical or get_type_name(found.schema) in CATEGORICAL

    def _find_columns(self, schema: Schema) -> FeatureColumns:
        """Return the columns that are features.

        :raises ValueError: when there are none, or one is neither a category nor a number.
        """
        config = self.config
        excluded = config.feature_blacklist or []
        wanted = config.feature_whitelist or schema.field_names
        names = [name for name in wanted if name not in excluded]
        return FeatureColumns.of(
            schema, config.outcome_field, names, config.categorical_features or []
        )

    def _get_hyperparameters(self) -> dict[str, str]:
        """Return all parameters of the algorithm.

        :raises ValueError: when what is given is not JSON.
        :raises BadRequestError: when one is unknown or invalid.
        """
        text = self.config.training_parameters
        given = json.loads(text) if text else {}
        if not isinstance(given, dict):
            raise ValueError("The training parameters are not a JSON object.")
        texts = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in given.items()
        }
        return fill_hyperparameters(self.config.algorithm, texts)


def _log_nothing(_message: str, _fraction: float) -> None:
    """Take no notice of the progress: a run shows its own."""
