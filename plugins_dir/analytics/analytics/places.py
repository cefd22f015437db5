"""Where the files of Analytics lie, in the application's folder of a namespace."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from urllib.parse import quote

TRAIN = "train"
TEST = "test"
FEATUREGEN = "featuregen"
MODEL = "model"
TARGET_INDICES = "targetindices"
MLFLOW = "mlflow"


def get_split_folder(folder: Path, experiment: str, split: str) -> Path:
    """Return the folder of a split, with ``train`` and ``test``."""
    return folder / "splits" / _escape(experiment) / split


def get_model_folder(folder: Path, experiment: str, model: str) -> Path:
    """Return the folder of a trained model and what belongs to it."""
    return folder / "models" / _escape(experiment) / model


def list_experiment_folders(folder: Path, experiment: str) -> list[Path]:
    """Return the folders of all splits and models of an experiment."""
    return [folder / kind / _escape(experiment) for kind in ("splits", "models")]


def remove_folder(folder: str | None) -> None:
    """Remove the folder of a model, if it has one, and those above it that have become empty."""
    if folder is None:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        for parent in list(Path(folder).parents)[:2]:
            parent.rmdir()


def _escape(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")
