"""Plugins and pipelines that previews and stage debugging are tested with."""

from __future__ import annotations

import json
from typing import Any

PEOPLE = {
    "type": "record",
    "name": "people",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "age", "type": ["int", "null"]},
    ],
}
PLUGINS = """
import os, random, time
from localcdap.api import *

@plugin(type="transform", name="Check", description="Refuses the young, fails for the old.")
class Check(Transform):
    class Config(PluginConfig):
        least: int = field("Least age.", default=18, macro=True)
        token: str = field("A secret.", default="none", macro=True)
        then: str = field("What happens to the old.", default="raise")

    def transform(self, record, emit):
        age = record["age"]
        print("age", age)
        if age is None:
            raise ValueError(f"no age, token {self.config.token}")
        if age > 150 and self.config.then == "raise":
            self.deeper(age)
        if age > 150 and self.config.then == "exit":
            os._exit(7)
        if age > 150 and self.config.then == "hog":
            self.kept = bytearray(100_000_000_000)
        if age > 150 and self.config.then == "sleep":
            time.sleep(60)
        if age > 150 and self.config.then == "mismatch":
            record = record | {"age": "old"}
        if age < self.config.least:
            emit.error(record, 4, "too young")
        else:
            emit(record)

    def deeper(self, age):
        raise ValueError(f"{age} is too old")

@plugin(type="transform", name="Draw", description="Draws a number for each record.")
class Draw(Transform):
    def transform(self, record, emit):
        emit(record | {"age": random.randrange(2**31)})

@plugin(type="sparkcompute", name="Fails", description="Fails in Spark.")
class Fails(SparkCompute):
    def apply(self, df, context):
        from pyspark.sql import functions as F
        return df.withColumn("age", F.raise_error(F.lit("asked to fail")).cast("int"))

@plugin(type="sparkcompute", name="Blanks", description="Makes the name of bob null, in Spark.")
class Blanks(SparkCompute):
    def apply(self, df, context):
        from pyspark.sql import functions as F
        return df.select(F.when(df.name != "bob", df.name).alias("name"), "age")

@plugin(type="sparkcompute", name="Leaves", description="Ends its process.")
class Leaves(SparkCompute):
    def apply(self, df, context):
        os._exit(5)

@plugin(type="action", name="Touch", description="Makes a file.")
class Touch(Action):
    class Config(PluginConfig):
        file: str = field("The file.")
    def run(self, context):
        open(context.resolve_path(self.config.file), "a").write("x")

@plugin(type="postaction", name="TouchLater", description="Makes a file.")
class TouchLater(PostAction):
    class Config(PostActionConfig):
        file: str = field("The file.")
    def run(self, context):
        open(context.resolve_path(self.config.file), "a").write("x")

@plugin(type="transform", name="Cloudy", description="Runs elsewhere only.")
@capability("mode_cloud")
class Cloudy(Transform):
    def transform(self, record, emit):
        emit(record)
"""


def stage(name: str, type: str, plugin: str, **properties: str) -> dict[str, Any]:
    return {"name": name, "plugin": {"type": type, "name": plugin, "properties": properties}}


def source(name: str, file: str) -> dict[str, Any]:
    schema = json.dumps(PEOPLE)
    return stage(
        name, "batchsource", "File", referenceName="r", path=file, format="csv", schema=schema
    )


def sink(name: str) -> dict[str, Any]:
    return stage(name, "batchsink", "File", referenceName="r", path=f"out-{name}", format="csv")


def pipeline(stages: list[dict[str, Any]], *connections: tuple[str, ...]) -> dict[str, Any]:
    """A connection is (from, to) or (from, to, condition)."""
    keys = ("from", "to", "condition")
    listed = [dict(zip(keys, connection, strict=False)) for connection in connections]
    return {"name": "tried", "stages": stages, "connections": listed}
