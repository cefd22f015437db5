"""A model in the folder layout of MLflow, which its Spark flavour loads: ``MLmodel`` and ``sparkml``."""

from __future__ import annotations

import datetime
import json
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from localcdap.api import Schema

from .features import NUMERIC_PREDICTION, PREDICTION, FeatureColumns
from .model import get_type_name

_DATA: Final = "sparkml"
_TYPES: Final = {
    "boolean": "boolean",
    "string": "string",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
}


def write_mlflow_folder(
    folder: Path,
    schema: Schema,
    columns: FeatureColumns,
    stages: Sequence[Any],
    labels: Sequence[str] | None,
) -> None:
    """Write a pipeline from the columns of the data to the prediction.

    :param stages: what makes the feature vector, and the model.
    :param labels: the classes by index; None for a model that predicts numbers.
    """
    import pyspark
    from pyspark.ml import PipelineModel
    from pyspark.ml.feature import IndexToString, SQLTransformer

    all_stages = [SQLTransformer(statement=columns.to_sql()), *stages]
    if labels is not None:
        all_stages.append(
            IndexToString(inputCol=NUMERIC_PREDICTION, outputCol=PREDICTION, labels=list(labels))
        )
    folder.mkdir(parents=True, exist_ok=True)
    PipelineModel(all_stages).write().overwrite().save(str(folder / _DATA))
    version = pyspark.__version__
    (folder / "MLmodel").write_text(_describe(schema, columns, labels, version), encoding="utf-8")
    (folder / "requirements.txt").write_text(f"pyspark=={version}\n", encoding="utf-8")
    python = ".".join(map(str, sys.version_info[:3]))
    environment = (
        f"python: {python}\nbuild_dependencies:\n- pip\ndependencies:\n- -r requirements.txt\n"
    )
    (folder / "python_env.yaml").write_text(environment, encoding="utf-8")


def _describe(
    schema: Schema, columns: FeatureColumns, labels: Sequence[str] | None, version: str
) -> str:
    """Return the text of ``MLmodel``, YAML."""
    inputs = [
        {
            "type": _TYPES[get_type_name(field.schema)],
            "name": field.name,
            "required": not field.schema.is_nullable,
        }
        for field in schema
        if field.name in columns.names
    ]
    output = [{"type": "string" if labels is not None else "double", "required": True}]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    lines = [
        "flavors:",
        "  python_function:",
        f"    data: {_DATA}",
        "    env:",
        "      virtualenv: python_env.yaml",
        "    loader_module: mlflow.spark",
        f"    python_version: {'.'.join(map(str, sys.version_info[:3]))}",
        "  spark:",
        "    code: null",
        f"    model_data: {_DATA}",
        f"    pyspark_version: {version}",
        f"model_uuid: {uuid.uuid4().hex}",
        "signature:",
        f"  inputs: {json.dumps(json.dumps(inputs))}",
        f"  outputs: {json.dumps(json.dumps(output))}",
        "  params: null",
        f"utc_time_created: '{now}'",
    ]
    return "\n".join(lines) + "\n"
