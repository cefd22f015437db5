"""MLPredictor: adds the predictions of a trained model (mmds ``MLPredictor`` and ``PredictorConf``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from localcdap.api import (
    Field,
    LineageRecorder,
    PluginConfig,
    PrepareContext,
    Schema,
    SparkCompute,
    SparkContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.methods import MethodContext, plugin_method
from localcdap.plugin_lib.spark.columns import get_column

from .algorithms import REGRESSION, find_algorithm, get_model_class
from .features import PREDICTION, FeatureColumns, load_pipeline_model
from .model import Experiment, Metrics, Model, get_type_name
from .store import EXPERIMENTS, FEATUREGEN, MODEL, MODELS, TARGET_INDICES, decode
from .trainer_sink import COMMITS, find_model, has_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FoundExperiment(msgspec.Struct, rename="camel"):
    """An experiment, as a person chooses one."""

    name: str
    outcome: str
    is_categorical: bool


class ModelsRequest(msgspec.Struct):
    """Which models are wanted."""

    experiment: str | None = None


class FoundModel(msgspec.Struct, rename="camel"):
    """A model that can predict, as a person chooses one."""

    id: str
    name: str
    algorithm: str
    status: str
    features: list[str]
    metrics: Metrics


@plugin(
    name="MLPredictor",
    description="Uses a trained model of Analytics to add a prediction field to records.",
)
class MLPredictor(SparkCompute):
    class Config(PluginConfig, macros=True, rename="camel"):
        experiment_id: str = field("The name of the experiment that the model belongs to.")
        model_id: str = field("The id of the model, which is unique in its experiment.")
        prediction_field: str = field(
            "The field for the prediction: a double, or a string for the class that a classifier predicts."
        )
        schema: Schema = field("The output schema: fields of the input, and the prediction field.")

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        if stage.input_schema is not None:
            self._check(stage, stage.input_schema)
        if not self.config.contains_macro("schema"):
            stage.output_schema = self.config.schema

    def _check(self, stage: StageConfigurer, inputs: Schema) -> None:
        config, name = self.config, self.config.prediction_field
        has_name = not config.contains_macro("predictionField")
        if has_name and inputs.field(name) is not None:
            stage.failures.add(
                f"Prediction field '{name}' already exists in the input schema.",
                "Please provide a different prediction field name.",
            ).with_config_property("predictionField")
        if config.contains_macro("schema"):
            return
        predicted = config.schema.field(name) if has_name else None
        if has_name and predicted is None:
            stage.failures.add(
                f"Prediction field '{name}' does not exist in the output schema.",
                "Please add a field for the prediction.",
            ).with_config_property("schema")
        elif predicted is not None and get_type_name(predicted.schema) not in ("double", "string"):
            stage.failures.add(
                f"Prediction field '{name}' is of invalid type '{get_type_name(predicted.schema)}'.",
                "Must be a double or a string.",
            ).with_output_field(name)
        for each in config.schema:
            if has_name and each.name != name:
                _check_field(stage, each, inputs)

    @plugin_method(
        "list-experiments", "The experiments that have models.", tables=[EXPERIMENTS.table]
    )
    def list_experiments(self, context: MethodContext) -> list[FoundExperiment]:
        """List the experiments of the namespace, by name."""
        found = [decode(row["info"], Experiment) for row in context.list_rows(EXPERIMENTS.table)]
        return [FoundExperiment(e.name, str(e.outcome), e.is_categorical) for e in found]

    @plugin_method(
        "list-models",
        "The models of an experiment that can predict.",
        tables=[MODELS.table, COMMITS.table],
    )
    def list_models(self, request: ModelsRequest, context: MethodContext) -> list[FoundModel]:
        """List the trained models of an experiment: by default that of the property ``experimentId``."""
        wanted = request.experiment or self.config.experiment_id
        rows = [*context.list_rows(MODELS.table), *context.list_rows(COMMITS.table)]
        models = [decode(row["info"], Model) for row in rows if row["experiment"] == wanted]
        return [
            FoundModel(
                each.id,
                each.name,
                str(each.algorithm),
                each.status.value,
                each.features,
                each.evaluation_metrics,
            )
            for each in {each.id: each for each in models if has_files(each)}.values()
        ]

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(self.config.prediction_field, lineage.input_fields)

    def prepare_run(self, context: PrepareContext) -> None:
        """Find the model, and check that the input has its features."""
        config = self.config
        model = context.transactions.run(
            lambda tx: find_model(tx, context.namespace, config.experiment_id, config.model_id)
        )
        if model is None:
            raise ValueError(
                f"Could not find model '{config.model_id}' in experiment '{config.experiment_id}'."
            )
        self._model = model
        self._require_usable(self._model)
        missing = [
            each for each in self._model.features if context.input_schema.field(each) is None
        ]
        if missing:
            raise ValueError(f"Input is missing feature fields {','.join(missing)}.")

    def _require_usable(self, model: Model) -> None:
        """Check that the model was trained and can predict what is asked for."""
        config = self.config
        if not has_files(model):
            raise ValueError(
                f"Could not find the files for model '{config.model_id}' in experiment "
                f"'{config.experiment_id}'. Please verify that the model was successfully trained."
            )
        algorithm = find_algorithm(str(model.algorithm))
        if algorithm is not None and algorithm.type == REGRESSION and self._is_text():
            raise ValueError(
                f"Invalid type for prediction field '{config.prediction_field}'. Model '{config.model_id}' "
                f"in experiment '{config.experiment_id}' is a regression model, which only supports double "
                "predictions."
            )

    def _is_text(self) -> bool:
        predicted = self.config.schema.field(self.config.prediction_field)
        return predicted is not None and get_type_name(predicted.schema) == "string"

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.sql import functions as f

        model, name = self._model, self.config.prediction_field
        columns = FeatureColumns(model.features, model.categorical_features)
        extra = [
            each for each in self.config.schema.field_names if each not in (*model.features, name)
        ]
        data = columns.clean(df, extra)
        data = load_pipeline_model(f"{model.folder}/{FEATUREGEN}").transform(data)
        fitted = get_model_class(str(model.algorithm)).load(f"{model.folder}/{MODEL}")
        predicted: Any = fitted.transform(data)
        number = f.col(fitted.getPredictionCol())
        if self._is_text():
            predicted = _name_classes(predicted, fitted.getPredictionCol(), str(model.folder))
            number = f.col(PREDICTION)
        shown = [
            number.alias(name) if each == name else get_column(each)
            for each in self.config.schema.field_names
        ]
        result: DataFrame = predicted.select(*shown)
        return result


def _name_classes(predicted: Any, column: str, folder: str) -> Any:
    """Add the class of each prediction."""
    from pyspark.ml.feature import IndexToString, StringIndexerModel

    labels = list(StringIndexerModel.load(f"{folder}/{TARGET_INDICES}").labels)
    return IndexToString(inputCol=column, outputCol=PREDICTION, labels=labels).transform(predicted)


def _check_field(stage: StageConfigurer, wanted: Field, inputs: Schema) -> None:
    found = inputs.field(wanted.name)
    if found is None:
        stage.failures.add(
            f"Feature '{wanted.name}' in the output schema is not in the input schema.",
            "Remove it from the output schema.",
        ).with_output_field(wanted.name)
    elif found.schema != wanted.schema:
        stage.failures.add(
            f"Feature '{wanted.name}' has a different schema in the output than in the input.",
            "Please ensure they have the same schema, including whether they are nullable or not.",
        ).with_output_field(wanted.name)
