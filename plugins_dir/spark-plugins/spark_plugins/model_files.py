"""Models in file sets: where a trainer saves one, and where a later stage finds it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcdap.api import PluginConfig, SinkContext, SparkContext, StageConfigurer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILE_SET = "fileSet"


def declare_file_set(stage: StageConfigurer, config: PluginConfig, name: str) -> None:
    """Have the file set of a model created with the pipeline."""
    if not config.contains_macro("fileSetName"):
        stage.create_dataset(name, FILE_SET, {}, config_property="fileSetName")


def is_empty(data: DataFrame, context: SinkContext) -> bool:
    """Return whether there are no records to train with, which the log then says, as no model is saved."""
    if not data.isEmpty():
        return False
    context.logger.warning("There are no records to train a model with. No model is saved.")
    return True


def save_model(model: Any, context: SinkContext, name: str, path: str | None) -> None:
    """Save a model of Spark in a file set when the run succeeds.

    :param path: relative to the folder of the file set; None for that folder itself.
    """
    files = context.create_dataset(name, FILE_SET, {})
    if files is None:
        raise context.fail("The model cannot be saved: this run has no host.")
    final = Path(files.folder) / path if path else Path(files.folder)
    model.write().overwrite().save(context.staging_directory(str(final)))


def find_model(context: SparkContext, name: str, path: str | None, purpose: str) -> str:
    """Return the folder of a model in a file set.

    :param purpose: what the model is used for, in the error when there is none (``SparkMLPredictor``).
    """
    folder = context.transactions.run(lambda tx: str(tx.dataset(name).get_location(path or "")))
    if not context.is_remote and not (Path(folder) / "metadata").is_dir():
        raise context.fail(
            f"Failed to find model to use for {purpose}. Location does not exist: {folder}.",
            "Run the pipeline that trains the model first.",
        )
    return folder
