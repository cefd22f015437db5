"""Trainers and predictors on numeric features: decision trees, and logistic regression.

The original (hydrator-plugins ``SparkMLTrainer``, ``SparkMLPredictor``, ``DecisionTreeTrainer``,
``LogisticRegressionTrainer``) uses ``spark.mllib``; here ``spark.ml`` fits the same models.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from localcdap.api import (
    LineageRecorder,
    Schema,
    SinkContext,
    SparkCompute,
    SparkContext,
    SparkSink,
    StageConfigurer,
    Type,
    field,
    plugin,
)
from localcdap.api.sql_names import quote_column
from localcdap.plugin_lib.spark.columns import get_column

from .feature_fields import FEATURES, FeatureConfig, add_features, name_type
from .model_files import declare_file_set, find_model, is_empty, save_model

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LABEL: Final = "_label"
_PREDICTION: Final = "_prediction"
_COLUMNS: Final = {"featuresCol": FEATURES, "labelCol": _LABEL, "predictionCol": _PREDICTION}


class TrainerConfig(FeatureConfig, macros=True, rename="camel"):
    """The properties of all trainers."""

    label_field: str = field(
        "The field with what is to be learned, a double.", form="{input-field}"
    )


class Trainer(SparkSink):
    """Base class of trainers."""

    config: TrainerConfig

    def configure(self, stage: StageConfigurer) -> None:
        declare_file_set(stage, self.config, self.config.file_set_name)
        schema = stage.input_schema
        if schema is None or self.config.contains_macro("labelField"):
            return
        label = self.config.label_field
        self.config.check_features(stage, schema, label)
        found = schema.field(label)
        if found is None:
            stage.failures.add(
                f"Label field {label} does not exists in the input schema.",
                f"Use one of: {', '.join(schema.field_names)}.",
            ).with_config_property("labelField")
        elif found.schema.non_nullable.type is not Type.DOUBLE:
            stage.failures.add(
                f"Label field must be of type Double, but was {name_type(found.schema)}.",
                "Convert it, with Projection for instance.",
            ).with_config_property("labelField").with_input_field(label)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        config = self.config
        names = config.list_features(context.input_schema, config.label_field)
        data = self._select(df, names).cache()
        try:
            if not is_empty(data, context):
                model = self.create_estimator(data, context).fit(data)
                save_model(model, context, config.file_set_name, config.path)
        finally:
            data.unpersist()

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        """Make the features, without training."""
        names = self.config.list_features(context.input_schema, self.config.label_field)
        self._select(df, names).write.format("noop").mode("overwrite").save()

    def _select(self, df: DataFrame, names: list[str]) -> DataFrame:
        """Return the features and labels of the records that have a label."""
        label = get_column(self.config.label_field)
        known = add_features(df.filter(label.isNotNull()), names, self.get_categories())
        return known.select(label.alias(_LABEL), FEATURES)

    def get_categories(self) -> Mapping[str, int]:
        """Return the number of values of each feature that is a category."""
        return {}

    def create_estimator(self, data: DataFrame, context: SinkContext) -> Any:
        """Return Spark's estimator."""
        raise NotImplementedError


@plugin(
    name="DecisionTreeTrainer",
    description="Trains a decision tree that predicts a number, and saves it in a file set.",
)
class DecisionTreeTrainer(Trainer):
    class Config(TrainerConfig, macros=True, rename="camel"):
        cardinality_mapping: str | None = field(
            "The features that are categories, with the number of their values, which are 0, 1, and so on: "
            "'dayOfWeek:7,month:12'.",
            default=None,
        )
        max_depth: int = field("The greatest depth of the tree; 0 is a single leaf.", default=10)
        max_bins: int = field(
            "The most bins for numbers; not below the number of values of any category.",
            default=100,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        config, schema = self.config, stage.input_schema
        for name, value, least in (
            ("maxDepth", config.max_depth, 0),
            ("maxBins", config.max_bins, 2),
        ):
            if value < least and not config.contains_macro(name):
                stage.failures.add(
                    f"'{name}' is {value}, but must be at least {least}."
                ).with_config_property(name)
        if config.contains_macro("cardinalityMapping"):
            return
        try:
            found = self.get_categories()
        except ValueError as error:
            stage.failures.add(
                f"Invalid categorical feature mapping. {error}. Please make sure it is in the format "
                "'feature':'cardinality'."
            ).with_config_property("cardinalityMapping")
            return
        if schema is None or config.selects_by_macro or config.contains_macro("labelField"):
            return
        for name in set(found) - set(config.list_features(schema, config.label_field)):
            stage.failures.add(
                f"'{name}' is not a feature, so it cannot be a category."
            ).with_config_property("cardinalityMapping")

    def get_categories(self) -> dict[str, int]:
        return parse_cardinalities(self.config.cardinality_mapping or "")

    def create_estimator(self, data: DataFrame, context: SinkContext) -> Any:
        from pyspark.ml.regression import DecisionTreeRegressor

        depth, bins = self.config.max_depth, self.config.max_bins
        return DecisionTreeRegressor(maxDepth=depth, maxBins=bins, impurity="variance", **_COLUMNS)


@plugin(
    name="LogisticRegressionTrainer",
    description="Trains a logistic regression that predicts a class, and saves it in a file set.",
)
class LogisticRegressionTrainer(Trainer):
    class Config(TrainerConfig, macros=True, rename="camel"):
        num_classes: int = field("The number of classes, which are 0, 1, and so on.", default=2)

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        if self.config.num_classes < 2 and not self.config.contains_macro("numClasses"):
            stage.failures.add(
                f"'numClasses' is {self.config.num_classes}, but must be at least 2."
            ).with_config_property("numClasses")

    def create_estimator(self, data: DataFrame, context: SinkContext) -> Any:
        from pyspark.ml.classification import LogisticRegression
        from pyspark.sql import functions as f

        count, label = self.config.num_classes, f.col(_LABEL)
        is_class = (label >= 0) & (label < count) & (label == f.floor(label))
        other = data.filter(~is_class).select(_LABEL).head()
        if other is not None:
            raise context.fail(
                f"The label {other[0]} is not one of {count} classes: 0 to {count - 1}.",
                "Number the classes from 0, or set the property numClasses.",
            )
        family = "binomial" if count == 2 else "multinomial"
        return LogisticRegression(family=family, fitIntercept=True, regParam=0.0, **_COLUMNS)


class PredictorConfig(FeatureConfig, macros=True, rename="camel"):
    """The properties of all predictors."""

    prediction_field: str = field("The new field with the prediction, a double.")


class Predictor(SparkCompute):
    """Base class of predictors."""

    module: ClassVar[str]
    """The module of ``pyspark.ml`` with the class of the model."""
    model: ClassVar[str]

    config: PredictorConfig

    def configure(self, stage: StageConfigurer) -> None:
        config, schema = self.config, stage.input_schema
        if schema is None or config.contains_macro("predictionField"):
            return
        config.check_features(stage, schema, config.prediction_field)
        if schema.field(config.prediction_field) is not None:
            stage.failures.add(
                "Prediction field must not already exist in the input schema.",
                "Use another name.",
            ).with_config_property("predictionField")
            return
        fields: list[Any] = [*schema, (config.prediction_field, Schema.DOUBLE)]
        stage.output_schema = Schema.record(f"{schema.name}.predicted", fields)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        excluded = self.config.feature_fields_to_exclude or []
        included = self.config.feature_fields_to_include or lineage.input_fields
        used = [name for name in lineage.input_fields if name in included and name not in excluded]
        lineage.derive(self.config.prediction_field, used)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        import importlib

        config = self.config
        names = config.list_features(context.input_schema, config.prediction_field)
        folder = find_model(context, config.file_set_name, config.path, "classification")
        loader = getattr(importlib.import_module(f"pyspark.ml.{self.module}"), self.model)
        model = loader.load(folder)
        if model.numFeatures != len(names):
            raise context.fail(
                f"The model was trained with {model.numFeatures} features; here are {len(names)}: "
                f"{', '.join(names)}.",
                "Include the fields that the trainer has used, in the same order.",
            )
        predicted: DataFrame = model.setPredictionCol(_PREDICTION).transform(
            add_features(df, names)
        )
        columns = [quote_column(each) for each in df.columns]
        return predicted.select(*columns, get_column(_PREDICTION).alias(config.prediction_field))


@plugin(
    name="DecisionTreePredictor",
    description="Predicts a number with a decision tree of a file set.",
)
class DecisionTreePredictor(Predictor):
    class Config(PredictorConfig):
        pass

    module = "regression"
    model = "DecisionTreeRegressionModel"


@plugin(
    name="LogisticRegressionClassifier",
    description="Classifies records with a logistic regression of a file set.",
)
class LogisticRegressionClassifier(Predictor):
    class Config(PredictorConfig):
        pass

    module = "classification"
    model = "LogisticRegressionModel"


def parse_cardinalities(text: str) -> dict[str, int]:
    """Return the numbers of values by feature, of a list such as ``a:2,b:7``.

    :raises ValueError: when it is none; the message is that of the original.
    """
    found: dict[str, int] = {}
    for part in text.split(",") if text else []:
        name, colon, count = (each.strip() for each in part.strip().partition(":"))
        if not colon or ":" in count:
            raise ValueError(f"Chunk [{part.strip()}] is not a valid entry")
        if name in found:
            raise ValueError(f"Duplicate key [{name}] found.")
        if not count.isdecimal() or int(count) < 1:
            raise ValueError(
                f"Invalid cardinality {count}. Please specify valid integer for cardinality."
            )
        found[name] = int(count)
    return found
