"""The record transform as a person writes it with ``mapInArrow``: ``python records.py INPUT OUTPUT``."""

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

source, target = sys.argv[1:]
SCHEMA = "id bigint, customer int, product string, quantity int, price double, revenue double"


def transform(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("customer", pa.int32()),
            ("product", pa.string()),
            ("quantity", pa.int32()),
            ("price", pa.float64()),
            ("revenue", pa.float64()),
        ]
    )
    for batch in batches:
        records = batch.to_pylist()
        for record in records:
            record["revenue"] = record["quantity"] * record["price"]
            record["product"] = record["product"].upper()
        yield pa.RecordBatch.from_pylist(records, schema=schema)


spark = SparkSession.builder.remote("local[*]").getOrCreate()
spark.read.parquet(source).mapInArrow(transform, SCHEMA).write.parquet(target)
