"""The recipe of 13 directives interpreted row by row: ``python recipe_rows.py INPUT OUTPUT``.

Each directive is an object with a method that takes a row and gives a row or None, as a plain translation of
the original to Python would be; rows are dicts, inside ``mapInArrow``.
"""

import csv
import random
import re
import string
import sys

import pyarrow as pa
from pyspark.sql import SparkSession

DROPPED = (6, 7, 12)
KEPT = [f"body_{n}" for n in range(1, 19) if n not in DROPPED]


class ParseCsv:
    def run(self, row):
        for number, value in enumerate(next(csv.reader([row["value"]])), start=1):
            row[f"body_{number}"] = value or None
        return row


class Drop:
    def __init__(self, column):
        self.column = column

    def run(self, row):
        row.pop(self.column, None)
        return row


class Fill:
    def __init__(self, column, value):
        self.column, self.value = column, value

    def run(self, row):
        if not row.get(self.column):
            row[self.column] = self.value
        return row


class Upper:
    def __init__(self, column):
        self.column = column

    def run(self, row):
        value = row.get(self.column)
        if isinstance(value, str):
            row[self.column] = value.upper()
        return row


class Mask:
    def __init__(self, column, mask):
        self.column, self.mask = column, mask

    def run(self, row):
        value = row.get(self.column)
        if value is not None:
            made, index = [], 0
            for sign in self.mask:
                if sign == "#" and index < len(value):
                    made.append(value[index])
                    index += 1
                elif sign == "x":
                    made.append(sign)
                    index += 1
                else:
                    made.append(sign)
            row[self.column] = "".join(made)
        return row


class Filter:
    def __init__(self, column, pattern):
        self.column, self.pattern = column, re.compile(pattern)

    def run(self, row):
        value = row.get(self.column)
        return None if value is not None and self.pattern.fullmatch(value) else row


class Shuffle:
    def __init__(self, column):
        self.column = column

    def run(self, row):
        value = row.get(self.column)
        if value is not None:
            draw, made = random.Random(7), []
            for sign in value:
                if sign.islower():
                    made.append(string.ascii_lowercase[draw.randrange(26)])
                elif sign.isdigit():
                    made.append(str(draw.randrange(10)))
                else:
                    made.append(sign)
            row[self.column] = "".join(made)
        return row


def directives():
    return [
        ParseCsv(), Drop("value"), Drop("body_12"), Fill("body_11", "N/A"), Upper("body_17"),
        Mask("body_18", "xxx###"), Drop("body_6"), Drop("body_7"), Fill("body_5", "N/A"),
        Upper("body_3"), Filter("body_9", "CA"), Mask("body_10", "xxx##"), Shuffle("body_4"),
    ]  # fmt: skip


def through(recipe, row):
    for directive in recipe:
        row = directive.run(row)
        if row is None:
            return None
    return row


def interpret(batches):
    recipe = directives()
    for batch in batches:
        made = (through(recipe, {"value": line}) for line in batch.column(0).to_pylist())
        rows = [row for row in made if row is not None]
        columns = [pa.array([row.get(name) for row in rows], pa.string()) for name in KEPT]
        yield pa.RecordBatch.from_arrays(columns, names=KEPT)


source, target = sys.argv[1:]
spark = SparkSession.builder.remote("local[*]").getOrCreate()
lines = spark.read.text(source)
lines.mapInArrow(interpret, ", ".join(f"{name} string" for name in KEPT)).write.parquet(target)
