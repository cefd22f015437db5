"""The records of every stage of the demo by hand: ``python demo_preview.py DEMO_FOLDER OUTPUT``.

Each DataFrame is shown by a ``take`` of its own, as one does while writing such a script.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

RECORDS = 100
COLUMNS = "customer string, product string, price double, quantity int, bad string"

spark = SparkSession.builder.remote("local").getOrCreate()
folder = Path(sys.argv[1])
lines = spark.read.text(str(folder / "purchases.csv"))
customers = spark.read.csv(
    str(folder / "customers.csv"),
    schema="id string, name string, city string, born int",
    header=True,
)
options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
parsed = (
    lines.limit(RECORDS).select(F.from_csv("value", COLUMNS, options).alias("row")).select("row.*")
)
good = parsed.where("bad is null")
amount = good.where("price is not null").select(
    "customer", (F.col("price") * F.col("quantity")).alias("amount")
)
totals = amount.groupBy("customer").agg(
    F.count("*").alias("purchases"),
    F.sum("amount").alias("spent"),
    F.max("amount").alias("largest"),
)
joined = totals.join(customers, totals.customer == customers.id, "left")
stages = [lines, customers, parsed, parsed.where("bad is not null"), amount, totals, joined]
Path(sys.argv[2]).write_text("\n".join(str(stage.take(RECORDS)) for stage in stages))
