"""The words of texts: what the plugins on texts share (hydrator-plugins ``SparkUtils``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import PluginConfig, Schema, StageConfigurer, Type
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column

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
