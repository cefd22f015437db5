"""The values of records as texts: ``String.valueOf`` of what a ``StructuredRecord`` of CDAP stores.

It stores dates as days, and times and timestamps as milli- or microseconds since midnight and 1970. Its
bytes, decimals and records have no text of their own in Java, only the name of a class; here they have their
contents. The originals are hydrator-plugins ``CSVFormatter.java`` and ``Normalize.java``, and kafka-plugins
``KafkaBatchSink.java``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.api import Record, Schema, Type, field
from localcdap.api.arrow import matches
from localcdap.files.formats import FORMER_TEXTS
from localcdap.java.strings import format_float, to_java_string
from localcdap.plugin_lib.json_texts import STORED
from localcdap.plugin_lib.text_values import find_float_shortener

_Write = Callable[[Any], str]


def former_texts_field() -> Any:
    """Declare the property :data:`FORMER_TEXTS` of a plugin that writes values as texts."""
    return field(
        "Whether dates, times and timestamps are ISO 8601 texts, and arrays and maps JSON, instead of "
        "numbers of days and of milli- or microseconds, and the texts of Java. Pipelines of earlier versions "
        "of localcdap have it.",
        default=False,
        name=FORMER_TEXTS,
        macro=False,
        group="more",
        addition="It writes texts that CDAP does not write, as earlier versions of localcdap did.",
    )


def make_text_writer(
    schema: Schema, *, former: bool = False
) -> Callable[[Record], dict[str, str | None]]:
    """Return the function from a record of the schema to the texts of its fields, None for null.

    :param former: to write the texts of earlier versions, see :func:`former_texts_field`.
    """
    if former:
        shorten = find_float_shortener(schema) or (lambda record: record)
        return lambda record: {
            name: None if value is None else to_java_string(value)
            for name, value in shorten(record).items()
        }
    writers = [(f.name, _find_writer(f.schema)) for f in schema]

    def write(record: Record) -> dict[str, str | None]:
        values = ((name, write, record.get(name)) for name, write in writers)
        return {name: None if value is None else write(value) for name, write, value in values}

    return write


def _find_writer(schema: Schema) -> _Write:
    """Return the function from a value that is not null to its text."""
    inner = schema.non_nullable
    if inner.logical_type in STORED:
        store = STORED[inner.logical_type]
        return lambda value: str(store(value))
    if inner.type is Type.FLOAT:
        return format_float
    make = _NESTED_WRITERS.get(inner.type)
    return to_java_string if make is None else make(inner)


def _make_array_writer(schema: Schema) -> _Write:
    write = _find_element_writer(schema.items)
    return lambda values: f"[{', '.join(map(write, values))}]"


def _make_map_writer(schema: Schema) -> _Write:
    key, write = _find_element_writer(schema.keys), _find_element_writer(schema.values)
    return lambda value: (
        f"{{{', '.join(f'{key(name)}={write(each)}' for name, each in value.items())}}}"
    )


def _make_record_writer(schema: Schema) -> _Write:
    shorten = find_float_shortener(schema) or (lambda record: record)
    return lambda value: to_java_string(shorten(value))


def _make_union_writer(schema: Schema) -> _Write:
    choices = [(member, _find_writer(member)) for member in schema.members]
    return lambda value: next(write(value) for member, write in choices if matches(value, member))


def _find_element_writer(schema: Schema | None) -> _Write:
    write = _find_writer(schema or Schema.STRING)
    return lambda value: "null" if value is None else write(value)


_NESTED_WRITERS: Final[dict[Type, Callable[[Schema], _Write]]] = {
    Type.ARRAY: _make_array_writer,
    Type.MAP: _make_map_writer,
    Type.RECORD: _make_record_writer,
    Type.UNION: _make_union_writer,
}
