"""The sample pipeline that comes with localcdap."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from localcdap.home import Home, shipped_data

NAME: Final = "demo"


def install_demo(home: Home) -> Path:
    """Copy the sample pipeline and its data into an instance's folder; files that are there already are kept.

    :return: the pipeline's file; its data lie beside it.
    """
    folder = home.path / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted((shipped_data() / "demo").iterdir()):
        if not (folder / source.name).exists():
            shutil.copyfile(source, folder / source.name)
    return folder / "pipeline.json"


def get_arguments(file: Path) -> dict[str, str]:
    """Return the runtime arguments that the sample pipeline needs."""
    return {"demo.folder": str(file.parent)}
