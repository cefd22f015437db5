"""Words and sequences of words: Tokenizer and NGramTransform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from localcdap.api import (
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkCompute,
    SparkContext,
    StageConfigurer,
    Type,
    field,
    plugin,
)
from localcdap.api.sql_names import quote_column
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.spark.columns import get_column

from .trainers import name_type

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
            f"Nullable String . But was {_name_inner(found.schema)} for field {name}.",
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
