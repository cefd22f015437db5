"""Formats of files for tests: pairs ``name=value`` by Python, and rows of XML by Spark."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

from localcdap.api import (
    FormatContext,
    InputFile,
    InputFormat,
    OutputFormat,
    PluginConfig,
    Record,
    Schema,
    SparkFormat,
    field,
    plugin,
)


class Separated(PluginConfig):
    separator: str = field("Text between name and value.", macro=True)


@plugin(name="Pairs", description="Records of one pair for each line.")
class PairsInput(InputFormat):
    Config = Separated
    config: Separated

    def validate(self, context: FormatContext) -> None:
        if self.config.separator == ",":
            context.failures.add("A comma is in many values.").with_config_property("separator")

    def detect_schema(self, file: InputFile) -> Schema | None:
        name = file.content.readline().decode().partition(self.config.separator)[0]
        return Schema.record("pair", [("name", Schema.STRING), (f"of_{name}", Schema.STRING)])

    def read(self, file: InputFile, schema: Schema) -> Iterator[Record]:
        for line in io.TextIOWrapper(file.content, encoding="utf-8"):
            values = line.rstrip("\n").split(self.config.separator)
            yield dict(zip(schema.field_names, values, strict=True))


@plugin(name="Pairs", description="One pair for each line.")
class PairsOutput(OutputFormat):
    Config = Separated
    config: Separated
    extension = ".pairs"

    def write(self, content: IO[bytes], records: Iterator[Record], schema: Schema) -> None:
        for record in records:
            content.write(f"{self.config.separator.join(record.values())}\n".encode())


class Tagged(PluginConfig, rename="camel"):
    row_tag: str = field("The element of a record.", default="row")


@plugin(name="Rows", description="Elements of XML, read by Spark.")
class RowsInput(InputFormat):
    Config = Tagged
    config: Tagged

    def get_schema(self, context: FormatContext) -> Schema:
        return Schema.record("row", [("name", Schema.STRING), ("n", Schema.INT.as_nullable)])

    def get_spark_format(self) -> SparkFormat:
        return SparkFormat("xml", {"rowTag": self.config.row_tag})


@plugin(name="Rows", description="Elements of XML, written by Spark.")
class RowsOutput(OutputFormat):
    Config = Tagged
    config: Tagged

    def get_spark_format(self) -> SparkFormat:
        return SparkFormat("xml", {"rowTag": self.config.row_tag, "rootTag": "rows"})
