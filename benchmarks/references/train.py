"""A model as a person trains it with PySpark: ``python train.py TRAIN TEST OUTPUT ALGORITHM``.

It does what the application does: nulls replaced, categories numbered, one vector, the fit, the confusion
matrix of the test data, and everything saved.
"""

import sys

from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression, RandomForestClassifier
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

train_path, test_path, target, algorithm = sys.argv[1:]
spark = SparkSession.builder.remote("local[*]").config("spark.driver.memory", "2g").getOrCreate()
categories = ["channel", "region"]


def prepare(path):
    data = spark.read.parquet(path).na.drop(subset=["outcome"])
    numbers = [name for name in data.columns if name not in [*categories, "outcome"]]
    filled = [F.nanvl(F.coalesce(F.col(name), F.lit(-1.0)), F.lit(-1.0)) for name in numbers]
    words = [F.coalesce(F.col(name), F.lit("?")) for name in categories]
    return data.select(
        "outcome",
        *[column.alias(name) for name, column in zip(numbers, filled, strict=True)],
        *[column.alias(name) for name, column in zip(categories, words, strict=True)],
    ), numbers


train, numbers = prepare(train_path)
test, _ = prepare(test_path)
indexed = [f"{name}_index" for name in categories]
doubled = [name for name in numbers for _ in range(2)]
features = Pipeline(
    stages=[
        StringIndexer(inputCols=categories, outputCols=indexed, handleInvalid="skip"),
        VectorAssembler(inputCols=[*doubled, *indexed], outputCol="features"),
    ]
).fit(train)
label = StringIndexer(inputCol="outcome", outputCol="label", handleInvalid="skip").fit(train)
train, test = (label.transform(features.transform(each)) for each in (train, test))
if algorithm == "logistic.regression":
    estimator = LogisticRegression(maxIter=100, tol=1e-6)
else:
    estimator = RandomForestClassifier(numTrees=20, maxDepth=5, featureSubsetStrategy="sqrt")
model = estimator.fit(train)
print(model.transform(test).groupBy("label", "prediction").count().collect())
label.write().overwrite().save(f"{target}/label")
features.write().overwrite().save(f"{target}/features")
model.write().overwrite().save(f"{target}/model")
