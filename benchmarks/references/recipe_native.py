"""The recipe of 13 directives as a person writes it for Spark: ``recipe_native.py INPUT OUTPUT [KEY]``.

With a key, repeated values of this column are counted, too.
"""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

DROPPED = (6, 7, 12)
source, target, *keys = sys.argv[1:]
spark = SparkSession.builder.remote("local[*]").getOrCreate()
names = [f"body_{n}" for n in range(1, 19)]
people = spark.read.schema(", ".join(f"{name} string" for name in names)).csv(source)
people = people.drop(*(f"body_{n}" for n in DROPPED))


def masked(column, visible):
    """Zeros and nines stay where the mask has a number sign."""
    return F.concat(F.lit("xxx"), F.substring(column, 4, visible))


def filled(column):
    return F.when(F.col(column).isNull() | (F.col(column) == ""), "N/A").otherwise(F.col(column))


def shuffled(column):
    """Letters for letters, digits for digits, as many as there are."""
    letters = F.regexp_replace(F.col(column), "[a-z]", "q")
    return F.regexp_replace(letters, "[0-9]", "7")


made = (
    people.where(~F.col("body_9").rlike("^(?:CA)$"))
    .withColumn("body_11", filled("body_11"))
    .withColumn("body_5", filled("body_5"))
    .withColumn("body_17", F.upper("body_17"))
    .withColumn("body_3", F.upper("body_3"))
    .withColumn("body_18", masked(F.col("body_18"), 3))
    .withColumn("body_10", masked(F.col("body_10"), 2))
    .withColumn("body_4", shuffled("body_4"))
)
made.write.parquet(target)
for key in keys:
    print(made.groupBy(key).count().where("count > 1").count(), "repeated values")
