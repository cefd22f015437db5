"""Vectors of texts: HashingTFFeatureGenerator, SkipGramTrainer and SkipGramFeatureGenerator."""

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

from .tokens import check_pattern, check_text, parse_mapping, split_words
from .trainers import declare_file_set, find_model, is_empty, save_model

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SPARSE_VECTOR: Final = Schema.record(
    "sparseVector",
    [
        ("size", Schema.INT),
        ("indices", Schema.array(Schema.INT)),
        ("vectorValues", Schema.array(Schema.DOUBLE)),
    ],
)
"""A sparse vector as a record (hydrator-plugins ``VectorUtils``)."""
_WORDS: Final = "_words"
_VECTOR: Final = "_vector"


class TextConfig(PluginConfig, macros=True, rename="camel"):
    """The property of all plugins on texts."""

    pattern: str = field("The pattern at which a text is split into words.", default=r"\s+")


class VectorConfig(TextConfig, macros=True, rename="camel"):
    """The properties of the plugins that add vectors."""

    output_column_mapping: str = field(
        "The fields with texts, and the new fields for their vectors: 'text:vector,title:titleVector'."
    )


class _VectorGenerator(SparkCompute):
    """Adds a field with a vector for each of some texts."""

    config: VectorConfig
    _what = "output column mapping"
    _kind = "sparse vector"
    _vector = SPARSE_VECTOR

    def configure(self, stage: StageConfigurer) -> None:
        config, schema = self.config, stage.input_schema
        check_pattern(stage, config, config.pattern)
        if schema is None or config.contains_macro("outputColumnMapping"):
            return
        try:
            mapping = self._parse()
        except ValueError as error:
            stage.failures.add(str(error)).with_config_property("outputColumnMapping")
            return
        taken = set(schema.field_names)
        for source, target in mapping.items():
            check_text(stage, schema, source, "outputColumnMapping")
            if target in taken:
                stage.failures.add(
                    f"Output column name {target} for column {source} is already present in the input "
                    "schema. Please provide a different output field name."
                ).with_config_property("outputColumnMapping")
            taken.add(target)
        if len(taken) == len(schema.field_names) + len(mapping):
            fields: list[Any] = [*schema, *((name, self._vector) for name in mapping.values())]
            stage.output_schema = Schema.record("record", fields)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        for source, target in self._parse().items():
            lineage.derive(target, [source])

    def _parse(self) -> dict[str, str]:
        return parse_mapping(self.config.output_column_mapping, self._what, self._kind)

    def _split(self, source: str, context: SparkContext) -> Column:
        return split_words(source, context.input_schema, self.config.pattern)


@plugin(
    name="HashingTFFeatureGenerator",
    description="Counts the words of texts in buckets, as a sparse vector.",
)
class HashingTFFeatureGenerator(_VectorGenerator):
    class Config(VectorConfig, macros=True, rename="camel"):
        num_features: int = field("The number of buckets for words.", default=2**20)

    config: Config
    one_to_one = True

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        if self.config.num_features < 1 and not self.config.contains_macro("numFeatures"):
            stage.failures.add(
                "Number of features cannot be negative. Please provide a validate positive value for number "
                "of features."
            ).with_config_property("numFeatures")

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        vectors = [
            _count_words(self._split(source, context), self.config.num_features).alias(target)
            for source, target in self._parse().items()
        ]
        return df.select(*[quote_column(each) for each in df.columns], *vectors)


def _count_words(words: Column, size: int) -> Column:
    """Return the sparse vector of the numbers of words by bucket.

    The bucket of a word is that of ``spark.mllib``'s ``HashingTF``: the function ``hash`` has its seed.
    """
    from pyspark.sql import functions as f

    buckets = f.array_sort(f.transform(words, lambda word: f.pmod(f.hash(word), f.lit(size))))
    different = f.array_distinct(buckets)
    # Equal buckets lie together, so that their number is the distance to the next one.
    begins = f.transform(different, lambda bucket: f.array_position(buckets, bucket))
    ends = f.concat(
        f.slice(begins, 2, f.greatest(f.size(begins) - 1, f.lit(0))),
        f.array(f.size(buckets).cast("long") + 1),
    )
    counts = f.transform(begins, lambda begin, at: (f.get(ends, at) - begin).cast("double"))
    return f.struct(
        f.lit(size).alias("size"), different.alias("indices"), counts.alias("vectorValues")
    )


@plugin(
    name="SkipGramTrainer",
    description="Learns a vector for each word of texts (Word2Vec), and saves the model in a file set.",
)
class SkipGramTrainer(SparkSink):
    class Config(TextConfig, macros=True, rename="camel"):
        file_set_name: str = field("The name of the file set with the model.")
        path: str = field("The path of the model in the file set.")
        input_col: str = field("The field with texts, or lists of words.", form="{input-field}")
        vector_size: int = field("The size of the vectors.", default=100)
        min_count: int = field("Words that occur less often are left out.", default=0)
        num_partitions: int = field(
            "The number of partitions that learn at once; more are faster, and less exact.",
            default=1,
        )
        num_iterations: int = field(
            "The number of iterations; not above the number of partitions.", default=1
        )
        window_size: int = field("The number of words on each side that are context.", default=5)

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        declare_file_set(stage, config, config.file_set_name)
        check_pattern(stage, config, config.pattern)
        if stage.input_schema is not None and not config.contains_macro("inputCol"):
            check_text(stage, stage.input_schema, config.input_col, "inputCol")
        for property, what, value, least in (
            ("vectorSize", "vector size", config.vector_size, 1),
            ("minCount", "minimum count", config.min_count, 0),
            ("numPartitions", "number of partitions", config.num_partitions, 1),
            ("numIterations", "number of iterations", config.num_iterations, 0),
            ("windowSize", "window size", config.window_size, 1),
        ):
            if value < least and not config.contains_macro(property):
                wrong = "cannot be negative" if value < 0 else "must be at least 1"
                stage.failures.add(
                    f"Value for {what} {wrong}. Please provide a valid positive value for {what}"
                ).with_config_property(property)

    def write(self, df: DataFrame, context: SinkContext) -> None:
        from pyspark.ml.feature import Word2Vec

        config = self.config
        words = self._split(df, context)
        if is_empty(words, context):
            return
        learner = Word2Vec(
            vectorSize=config.vector_size,
            minCount=config.min_count,
            numPartitions=config.num_partitions,
            maxIter=config.num_iterations,
            windowSize=config.window_size,
            inputCol=_WORDS,
            outputCol=_VECTOR,
        )
        save_model(learner.fit(words), context, config.file_set_name, config.path)

    def preview(self, df: DataFrame, context: SinkContext) -> None:
        """Split the texts, without training."""
        self._split(df, context).write.format("noop").mode("overwrite").save()

    def _split(self, df: DataFrame, context: SinkContext) -> DataFrame:
        words = split_words(self.config.input_col, context.input_schema, self.config.pattern)
        return df.select(words.alias(_WORDS))


@plugin(
    name="SkipGramFeatureGenerator",
    description="Adds the average vector of the words of texts, with a model of SkipGramTrainer.",
)
class SkipGramFeatureGenerator(_VectorGenerator):
    class Config(VectorConfig, macros=True, rename="camel"):
        file_set_name: str = field("The name of the file set with the model.")
        path: str = field("The path of the model in the file set.")

    config: Config
    _what = "output feature mapping"
    _kind = "vector as array of double"
    _vector = Schema.array(Schema.DOUBLE)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.ml.feature import Word2VecModel
        from pyspark.ml.functions import vector_to_array
        from pyspark.sql import functions as f

        folder = find_model(context, self.config.file_set_name, self.config.path, "features")
        model = Word2VecModel.load(folder)
        columns = [quote_column(each) for each in df.columns]
        for place, (source, target) in enumerate(self._parse().items()):
            words, vector = f"{_WORDS}{place}", f"{_VECTOR}{place}"
            model.setInputCol(words).setOutputCol(vector)
            df = model.transform(df.withColumn(words, self._split(source, context)))
            df = df.withColumn(target, vector_to_array(f.col(vector)))
            columns.append(quote_column(target))
        return df.select(*columns)
