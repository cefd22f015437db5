"""The pipeline of ``localcdap demo`` as a person writes it: ``python demo.py FOLDER OUTPUT``."""

import csv
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

source, target = sys.argv[1:]
PARSED = "customer string, product string, price double, quantity int, body string, problem string"


def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema(
        [
            ("customer", pa.string()),
            ("product", pa.string()),
            ("price", pa.float64()),
            ("quantity", pa.int32()),
            ("body", pa.string()),
            ("problem", pa.string()),
        ]
    )
    for batch in batches:
        records = []
        for line in batch.column(0).to_pylist():
            try:
                customer, product, price, quantity = next(csv.reader([line]))
                record = {
                    "customer": customer,
                    "product": product,
                    "price": float(price) if price else None,
                    "quantity": int(quantity),
                }
            except ValueError as error:
                record = {"body": line, "problem": str(error)}
            records.append(record)
        yield pa.RecordBatch.from_pylist(records, schema=schema)


spark = SparkSession.builder.remote("local[*]").getOrCreate()
parsed = spark.read.text(f"{source}/purchases.csv").mapInArrow(parse, PARSED).cache()
parsed.where("problem IS NOT NULL").select("body", "problem").write.json(f"{target}/rejected")
amounts = parsed.where("problem IS NULL AND price IS NOT NULL").select(
    "customer", (F.col("price") * F.col("quantity")).alias("amount")
)
totals = amounts.groupBy("customer").agg(
    F.count("*").alias("purchases"),
    F.sum("amount").alias("spent"),
    F.max("amount").alias("largest"),
)
customers = spark.read.schema("id string, name string, city string, born int").csv(
    f"{source}/customers.csv", header=True
)
spending = (
    totals.join(customers, totals.customer == customers.id, "left")
    .select("customer", "name", "city", "purchases", "spent", "largest")
    .cache()
)
spending.write.parquet(f"{target}/table")
spending.write.csv(f"{target}/spending", header=True)
parsed.unpersist()
spending.unpersist()
