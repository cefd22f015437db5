"""Trainers and predictors: decision trees and logistic regression on numbers, naive Bayes on texts.

The original (hydrator-plugins ``SparkMLTrainer``, ``SparkMLPredictor``, ``DecisionTreeTrainer``,
``LogisticRegressionTrainer``) uses ``spark.mllib``; here ``spark.ml`` fits the same models.

A text is split at each blank, and its words are counted in ``numFeatures`` buckets (hydrator-plugins
``NaiveBayesTrainer``, ``NaiveBayesClassifier``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from localcdap.api import (
    AlteredRows,
    LineageRecorder,
    PluginConfig,
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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


FEATURES: Final = "_features"
_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)
_BOTH: Final = (
    "Cannot specify values for both featuresToInclude and featuresToExclude. "
    "Please specify fields for one."
)


class FeatureConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of trainers and predictors that select features, and say where the model is."""

    file_set_name: str = field("The name of the file set with the model.")
    path: str | None = field(
        "The path of the model in the file set; by default the file set itself.", default=None
    )
    feature_fields_to_include: list[str] | None = field(
        "The fields that are features; by default all but those to exclude.",
        default=None,
        form="{input-field},",
    )
    feature_fields_to_exclude: list[str] | None = field(
        "The fields that are left out of the features.", default=None, form="{input-field},"
    )

    @property
    def selects_by_macro(self) -> bool:
        """Whether it is not known yet which fields are features."""
        names = ("featureFieldsToInclude", "featureFieldsToExclude")
        return any(self.contains_macro(name) for name in names)

    def list_features(self, schema: Schema, target: str) -> list[str]:
        """Return the fields that are features, in order, without the label or prediction."""
        if self.feature_fields_to_include:
            names = self.feature_fields_to_include
            return [name for name in names if name != target and schema.field(name) is not None]
        excluded = {target, *(self.feature_fields_to_exclude or [])}
        return [name for name in schema.field_names if name not in excluded]

    def check_features(self, stage: StageConfigurer, schema: Schema, target: str) -> None:
        """Report what is wrong with the features."""
        if self.feature_fields_to_include and self.feature_fields_to_exclude:
            failure = stage.failures.add(_BOTH)
            failure.with_config_property("featureFieldsToInclude")
            failure.with_config_property("featureFieldsToExclude")
            return
        if self.selects_by_macro:
            return
        self._warn_of_unknown(stage, schema)
        names = self.list_features(schema, target)
        if not names:
            stage.failures.add(
                "There is no field that could be a feature.",
                "Connect a stage with fields that are numbers, or exclude fewer fields.",
            )
        for name in names:
            found = schema.field(name)
            assert found is not None
            if found.schema.non_nullable.type not in _NUMBERS or found.schema.logical_type:
                stage.failures.add(
                    "Features must be of type : int, double, float, long but was of type "
                    f"{name_type(found.schema)} for field {name}.",
                    "Exclude the field, or convert it.",
                ).with_input_field(name)

    def _warn_of_unknown(self, stage: StageConfigurer, schema: Schema) -> None:
        for each in ("Include", "Exclude"):
            names = getattr(self, f"feature_fields_to_{each.lower()}") or []
            for name in names:
                if schema.field(name) is None:
                    stage.warnings.add(
                        f"Field '{name}' does not exist in the input schema, and is left out.",
                        f"Use some of: {', '.join(schema.field_names)}.",
                    ).with_config_property(f"featureFieldsTo{each}", element=name)


def name_type(schema: Schema) -> str:
    """Return the name of a type as the original writes it: ``STRING``."""
    return schema.non_nullable.type.value.upper()


def add_features(
    df: DataFrame, names: list[str], categories: Mapping[str, int] | None = None
) -> DataFrame:
    """Add the vector of features; null is 0, as it is absent from the original's sparse vector.

    :param categories: the number of values of features that are categories, whose values are 0, 1, and so on.
    """
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import functions as f

    parts = [f"_feature_{place}" for place in range(len(names))]
    zero = f.lit(0.0)
    columns = [
        f.coalesce(get_column(name).cast("double"), zero).alias(
            part, metadata=_describe(part, (categories or {}).get(name))
        )
        for name, part in zip(names, parts, strict=True)
    ]
    # NaN is a value for the trees, as in the original.
    assembler = VectorAssembler(inputCols=parts, outputCol=FEATURES, handleInvalid="keep")
    assembled: DataFrame = assembler.transform(df.select("*", *columns)).drop(*parts)
    return assembled


def _describe(name: str, values: int | None) -> dict[str, object]:
    """Return the metadata by which Spark knows a category (``NominalAttribute``)."""
    if values is None:
        return {}
    return {"ml_attr": {"type": "nominal", "name": name, "num_vals": values}}


FILE_SET = "fileSet"


def declare_file_set(
    stage: StageConfigurer, config: PluginConfig, name: str, path: str | None
) -> None:
    """Have the file set of a model created with the pipeline.

    :param path: of the model, as for :func:`save_model`.
    """
    if not config.contains_macro("fileSetName"):
        stage.create_dataset(name, FILE_SET, {}, config_property="fileSetName")
        if not config.contains_macro("path"):
            stage.replaces_folder(
                "path" if path else "fileSetName", f"dataset://{name}/{path or ''}"
            )


def is_empty(data: DataFrame, context: SinkContext) -> bool:
    """Return whether there are no records to train with, which the log then says, as no model is saved."""
    if not data.isEmpty():
        return False
    context.logger.warning("There are no records to train a model with. No model is saved.")
    return True


def save_model(model: Any, context: SinkContext, name: str, path: str | None) -> None:
    """Save a model of Spark in a file set when the run succeeds.

    :param path: relative to the folder of the file set; None for that folder itself.
    """
    files = context.create_dataset(name, FILE_SET, {})
    if files is None:
        raise context.fail("The model cannot be saved: this run has no host.")
    final = Path(files.folder) / path if path else Path(files.folder)
    model.write().overwrite().save(context.staging_directory(str(final)))


def find_model(context: SparkContext, name: str, path: str | None, purpose: str) -> str:
    """Return the folder of a model in a file set.

    :param purpose: what the model is used for, in the error when there is none (``SparkMLPredictor``).
    """
    folder = context.transactions.run(lambda tx: str(tx.dataset(name).get_location(path or "")))
    if not context.is_remote and not (Path(folder) / "metadata").is_dir():
        raise context.fail(
            f"Failed to find model to use for {purpose}. Location does not exist: {folder}.",
            "Run the pipeline that trains the model first.",
        )
    return folder


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
        declare_file_set(stage, self.config, self.config.file_set_name, self.config.path)
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
        data = self._select(self._count_unlabeled(df, context), names).cache()
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

    def _count_unlabeled(self, df: DataFrame, context: SinkContext) -> DataFrame:
        from pyspark.sql import functions as F  # noqa: N812

        first = F.when(get_column(self.config.label_field).isNull(), F.lit("null"))
        change = "a record without a label was left out of the training"
        return context.observe_altered(df, AlteredRows(change, first))

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
                "Prediction field must not already exist in the input schema.", "Use another name."
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


_WORDS: Final = "_words"
_FEATURES: Final = "_features"


class NaiveBayesConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of both plugins."""

    file_set_name: str = field("The name of the file set with the model.")
    path: str = field("The path of the model in the file set.")
    field_to_classify: str = field("The field with a sequence of words, separated by blanks.")
    prediction_field: str = field("The field with the class, a double.")
    num_features: int = field(
        "The number of buckets for words; the same for training and classification.", default=100
    )


def _check_text(stage: StageConfigurer, config: NaiveBayesConfig) -> None:
    schema = stage.input_schema
    if schema is None or config.contains_macro("fieldToClassify"):
        return
    found = schema.field(config.field_to_classify)
    if found is None:
        stage.failures.add(
            f"Field to classify '{config.field_to_classify}' does not exist in the input schema.",
            f"Use one of: {', '.join(schema.field_names)}.",
        ).with_config_property("fieldToClassify")
    elif found.schema.non_nullable != Schema.STRING:
        stage.failures.add(
            f"Field to classify must be of type String, but was {found.schema.display_name}."
        ).with_config_property("fieldToClassify").with_input_field(config.field_to_classify)


def _count_words(df: DataFrame, config: NaiveBayesConfig) -> DataFrame:
    from pyspark.ml.feature import HashingTF
    from pyspark.sql import functions as f

    words = f.split(get_column(config.field_to_classify), " ")
    counter = HashingTF(inputCol=_WORDS, outputCol=_FEATURES, numFeatures=config.num_features)
    counted: DataFrame = counter.transform(
        df.withColumn(_WORDS, f.coalesce(words, f.array().cast("array<string>")))
    )
    return counted


@plugin(
    name="NaiveBayesTrainer",
    description="Trains a Naive Bayes model on words, and saves it in a file set.",
)
class NaiveBayesTrainer(SparkSink):
    class Config(NaiveBayesConfig):
        pass

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        _check_text(stage, self.config)
        schema, name = stage.input_schema, self.config.prediction_field
        if schema is not None and not self.config.contains_macro("predictionField"):
            found = schema.field(name)
            if found is None or found.schema.non_nullable != Schema.DOUBLE:
                what = "does not exist" if found is None else f"is {found.schema.display_name}"
                stage.failures.add(
                    f"Prediction field '{name}' must be a double of the input schema, but {what}."
                ).with_config_property("predictionField")
        declare_file_set(stage, self.config, self.config.file_set_name, self.config.path)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        from pyspark.ml.classification import NaiveBayes

        label = get_column(self.config.prediction_field)
        data = _count_words(df, self.config).select(label.cast("double").alias(_LABEL), _FEATURES)
        if not is_empty(data, context):
            model = NaiveBayes(featuresCol=_FEATURES, labelCol=_LABEL, smoothing=1.0).fit(data)
            save_model(model, context, self.config.file_set_name, self.config.path)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        """Count the words, without training."""
        _count_words(df, self.config).write.format("noop").mode("overwrite").save()


@plugin(
    name="NaiveBayesClassifier",
    description="Classifies texts with a Naive Bayes model of a file set.",
)
class NaiveBayesClassifier(SparkCompute):
    class Config(NaiveBayesConfig):
        pass

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        _check_text(stage, self.config)
        schema, name = stage.input_schema, self.config.prediction_field
        if schema is None or self.config.contains_macro("predictionField"):
            return
        if schema.field(name) is not None:
            stage.failures.add(
                "Prediction field must not already exist in input schema."
            ).with_config_property("predictionField")
            return
        fields: list[Any] = [*schema, (name, Schema.DOUBLE)]
        stage.output_schema = Schema.record(f"{schema.name}.predicted", fields)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(self.config.prediction_field, [self.config.field_to_classify])

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.ml.classification import NaiveBayesModel
        from pyspark.sql import functions as f

        name = self.config.prediction_field
        folder = find_model(context, self.config.file_set_name, self.config.path, "classification")
        model = NaiveBayesModel.load(folder)
        predicted: DataFrame = model.transform(_count_words(df, self.config))
        columns = [quote_column(each) for each in df.columns]
        return predicted.select(*columns, f.col(model.getPredictionCol()).alias(name))
