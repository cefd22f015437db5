"""The relational pipeline as a person writes it: ``python relational.py INPUT OUTPUT``."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

source, target = sys.argv[1:]
spark = SparkSession.builder.remote("local[*]").getOrCreate()
sales = spark.read.schema(
    "id bigint, customer int, product string, quantity int, price double"
).csv(source)
totals = sales.groupBy("customer").agg(
    F.count("*").alias("sales"),
    F.sum("quantity").alias("quantity"),
    F.sum("price").alias("revenue"),
)
totals.write.parquet(target)
