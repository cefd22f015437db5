"""Independent branches as a person writes them, one after the other: ``python branches.py INPUT OUTPUT``."""

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

source, target = sys.argv[1:]
SALE = "id bigint, customer int, product string, quantity int, price double"
BRANCHES = 11


def transform(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        records = batch.to_pylist()
        for record in records:
            record["revenue"] = record["quantity"] * record["price"]
            record["product"] = record["product"].upper()
        schema = batch.schema.append(pa.field("revenue", pa.float64()))
        yield pa.RecordBatch.from_pylist(records, schema=schema)


spark = SparkSession.builder.remote("local[*]").getOrCreate()
for branch in range(BRANCHES):
    sales = spark.read.schema(SALE).csv(source)
    sales.mapInArrow(transform, SALE + ", revenue double").write.parquet(f"{target}/{branch}")
