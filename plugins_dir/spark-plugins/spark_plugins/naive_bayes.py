"""NaiveBayesTrainer and NaiveBayesClassifier, of CDAP's spark-plugins: classes of texts by their words.

A text is split at each blank, and its words are counted in ``numFeatures`` buckets (hydrator-plugins
``NaiveBayesTrainer``, ``NaiveBayesClassifier``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    LineageRecorder,
    PluginConfig,
    Schema,
    SinkContext,
    SparkCompute,
    SparkContext,
    SparkSink,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.sql_names import quote_column
from localcdap.plugin_lib.spark.columns import get_column

from .trainers import declare_file_set, find_model, is_empty, save_model

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WORDS: Final = "_words"
_FEATURES: Final = "_features"
_LABEL: Final = "_label"


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
        declare_file_set(stage, self.config, self.config.file_set_name)

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
