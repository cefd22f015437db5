"""Operations of the original's tests."""

from __future__ import annotations

from localcdap.api.lineage import EndPoint
from localcdap.metadata.lineage.field_lineage import EndPointField
from localcdap.metadata.lineage.pipeline_operations import (
    InputField,
    PlatformRead,
    PlatformTransform,
    PlatformWrite,
)


def end(name, namespace=None):
    return EndPoint(name, namespace)


def inputs(*fields):
    """Input fields from texts such as ``read.offset``; the last dot separates the field."""
    return tuple(InputField(*field.rsplit(".", 1)) for field in fields)


def read(name, source, *outputs):
    return PlatformRead(name, "", source, outputs)


def transform(name, taken, *outputs):
    return PlatformTransform(name, "", inputs(*taken), outputs)


def write(name, destination, *taken):
    return PlatformWrite(name, "", destination, inputs(*taken))


def field(end_point, name):
    return EndPointField(end_point, name)


SOURCE, DESTINATION = end("endpoint1", "ns1"), end("another_file", "myns")


def people(with_file_name=False):
    """Reads offset and body, parses names out of the body, writes offset and name."""
    more = ["file_name"] if with_file_name else []
    return [
        transform("parse", ["read.body"], "first_name", "last_name"),
        transform("concat", ["parse.first_name", "parse.last_name"], "name"),
        read("read", SOURCE, "offset", "body", *more),
        write(
            "write_op",
            DESTINATION,
            "read.offset",
            "concat.name",
            *(f"read.{name}" for name in more),
        ),
    ]
