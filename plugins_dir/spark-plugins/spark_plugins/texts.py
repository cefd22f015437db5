"""Plugins on texts: Tokenizer, NGramTransform, HashingTFFeatureGenerator, and those of skip-grams."""

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
    Type,
    field,
    plugin,
)
from localcdap.api.sql_names import quote_column
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.spark.columns import get_column

from .trainers import declare_file_set, find_model, is_empty, name_type, save_model

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


WORD_LIST: Final = Schema.array(Schema.STRING)


def is_text(schema: Schema) -> bool:
    """Return whether a field is a text, or a list of texts."""
    inner = schema.non_nullable
    if inner.type is Type.ARRAY:
        assert inner.items is not None
        inner = inner.items.non_nullable
    return inner.type is Type.STRING


def check_text(stage: StageConfigurer, schema: Schema, name: str, property: str) -> bool:
    """Report when a field is neither a text nor a list of texts; return whether it is."""
    found = schema.field(name)
    if found is None:
        stage.failures.add(
            f"Input field {name} does not exist in the input schema.",
            f"Use one of: {', '.join(schema.field_names)}.",
        ).with_config_property(property)
    elif not is_text(found.schema):
        stage.failures.add(
            "Field to be transformed should be of type String or Nullable String or Array of type String or "
            f"Nullable String . But was {_name_inner(found.schema)} for field {name}."
        ).with_config_property(property).with_input_field(name)
    return found is not None and is_text(found.schema)


def check_pattern(stage: StageConfigurer, config: PluginConfig, pattern: str) -> None:
    """Report an invalid pattern of the property ``pattern``."""
    if config.contains_macro("pattern"):
        return
    try:
        matches_nothing = compile_regex(pattern).matches("")
    except RegexError as error:
        stage.failures.add(
            f"Invalid expression - {pattern}. Please provide a valid pattern for splitting the string. "
            f"{error}."
        ).with_config_property("pattern")
        return
    if matches_nothing:
        stage.failures.add(
            f"The pattern may not match the empty string: {pattern}"
        ).with_config_property("pattern")


def split_words(name: str, schema: Schema, pattern: str) -> Column:
    """Return the words of a field: those of a text, or the elements of a list; none for null."""
    from pyspark.sql import functions as f

    found = schema.field(name)
    assert found is not None
    column = get_column(name)
    is_list = found.schema.non_nullable.type is Type.ARRAY
    words = column if is_list else f.split(column, pattern)
    return f.coalesce(words, f.array().cast("array<string>"))


def parse_mapping(text: str, what: str, kind: str) -> dict[str, str]:
    """Return output fields by input field, of a list such as ``text:vector,title:titleVector``.

    :param what: what the original calls the list in its errors; ``kind`` is what is generated.
    :raises ValueError: when it is none.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        source, colon, target = (each.strip() for each in part.strip().partition(":"))
        if not colon or ":" in target or not source or not target:
            raise ValueError(
                _reject(text, what, kind, f"Chunk [{part.strip()}] is not a valid entry")
            )
        if source in found:
            raise ValueError(_reject(text, what, kind, f"Duplicate key [{source}] found."))
        found[source] = target
    return found


def _reject(text: str, what: str, kind: str, problem: str) -> str:
    return (
        f"Invalid {what} {text}. Please provide a valid output column mapping which can be used to store the "
        f"generated {kind}. 'outputColumnMapping' should be in the format "
        f"'input-column':'transformed-output-column'. {problem}."
    )


def _name_inner(schema: Schema) -> str:
    inner = schema.non_nullable
    if inner.type is Type.ARRAY and inner.items is not None:
        inner = inner.items.non_nullable
    return inner.type.value.upper()


_INPUT: Final = "_input"
_OUTPUT: Final = "_output"


def _find_field(stage: StageConfigurer, name: str, property: str) -> Schema | None:
    """Return the schema of a field, or report that it does not exist."""
    schema = stage.input_schema
    found = schema.field(name) if schema is not None else None
    if schema is not None and found is None:
        stage.failures.add(
            f"Field '{name}' does not exist in the input schema.",
            f"Use one of: {', '.join(schema.field_names)}.",
        ).with_config_property(property)
    return found.schema.non_nullable if found is not None else None


@plugin(name="Tokenizer", description="Splits a text into words, in lower case.")
class Tokenizer(SparkCompute):
    class Config(PluginConfig, macros=True, rename="camel"):
        column_to_be_tokenized: str = field("The field with the text.", form="{input-field}")
        pattern_separator: str = field("The pattern that separates the words.")
        output_column: str = field("The new field with the list of words.")

    config: Config
    one_to_one = True

    def configure(self, stage: StageConfigurer) -> None:
        config, schema = self.config, stage.input_schema
        if not config.contains_macro("columnToBeTokenized"):
            name = config.column_to_be_tokenized
            found = _find_field(stage, name, "columnToBeTokenized")
            if found is not None and found.type is not Type.STRING:
                stage.failures.add(
                    f"Column to be tokenized {name} must be of type String, but was of type "
                    f"{name_type(found)}."
                ).with_config_property("columnToBeTokenized").with_input_field(name)
        self._check_pattern(stage)
        if schema is None or config.contains_macro("outputColumn"):
            return
        if schema.field(config.output_column) is not None:
            stage.failures.add(
                f"Output column {config.output_column} already exists.", "Use another name."
            ).with_config_property("outputColumn")
            return
        fields: list[Any] = [*schema, (config.output_column, WORD_LIST)]
        stage.output_schema = Schema.record("record", fields)

    def _check_pattern(self, stage: StageConfigurer) -> None:
        if self.config.contains_macro("patternSeparator"):
            return
        try:
            compile_regex(self.config.pattern_separator)
        except RegexError as error:
            stage.failures.add(f"Invalid pattern: {error}.").with_config_property(
                "patternSeparator"
            )

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(self.config.output_column, [self.config.column_to_be_tokenized])

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.ml.feature import RegexTokenizer
        from pyspark.sql import functions as f

        config = self.config
        text = f.coalesce(get_column(config.column_to_be_tokenized), f.lit(""))
        splitter = RegexTokenizer(
            inputCol=_INPUT, outputCol=_OUTPUT, pattern=config.pattern_separator
        )
        words = splitter.transform(df.withColumn(_INPUT, text))
        columns = [quote_column(each) for each in df.columns]
        result: DataFrame = words.select(*columns, f.col(_OUTPUT).alias(config.output_column))
        return result


@plugin(
    name="NGramTransform",
    description="Makes the sequences of n words of a list of words; other fields are dropped.",
)
class NGramTransform(SparkCompute):
    class Config(PluginConfig, macros=True, rename="camel"):
        field_to_be_transformed: str = field(
            "The field with a list of words.", form="{input-field}"
        )
        ngram_size: int = field("The number of words of each sequence.")
        output_field: str = field("The field with the list of sequences.")

    config: Config
    one_to_one = True

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        if not config.contains_macro("fieldToBeTransformed"):
            name = config.field_to_be_transformed
            found = _find_field(stage, name, "fieldToBeTransformed")
            if found is not None and found.type is not Type.ARRAY:
                stage.failures.add(
                    f"Features to be transformed {name} should be of type ARRAY, but was of type "
                    f"{name_type(found)}."
                ).with_config_property("fieldToBeTransformed").with_input_field(name)
            elif found is not None and found.items.non_nullable.type is not Type.STRING:  # type: ignore[union-attr]
                stage.failures.add(
                    f"Features to be transformed {name} should be an array of strings."
                ).with_config_property("fieldToBeTransformed").with_input_field(name)
        if not config.contains_macro("ngramSize") and config.ngram_size < 1:
            stage.failures.add(
                f"The n-gram size is {config.ngram_size}, but must be at least 1."
            ).with_config_property("ngramSize")
        if not config.contains_macro("outputField"):
            stage.output_schema = Schema.record("outputSchema", [(config.output_field, WORD_LIST)])

    def record_lineage(self, lineage: LineageRecorder) -> None:
        lineage.derive(self.config.output_field, [self.config.field_to_be_transformed])

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        from pyspark.ml.feature import NGram
        from pyspark.sql import functions as f

        words = f.coalesce(
            get_column(self.config.field_to_be_transformed), f.array().cast("array<string>")
        )
        maker = NGram(n=self.config.ngram_size, inputCol=_INPUT, outputCol=_OUTPUT)
        made: DataFrame = maker.transform(df.select(words.alias(_INPUT)))
        return made.select(f.col(_OUTPUT).alias(self.config.output_field))


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
        declare_file_set(stage, config, config.file_set_name, config.path)
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
