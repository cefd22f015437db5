"""The sample pipeline of localcdap."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from localcdap.home import Home, find_shipped_data

NAME: Final = "demo"


def install_demo(home: Home) -> Path:
    """Copy the sample pipeline and its data into an instance's folder; existing files are kept.

    :return: the pipeline's file, which is in the same folder as its data.
    """
    folder = home.path / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted((find_shipped_data() / "demo").iterdir()):
        if not (folder / source.name).exists():
            shutil.copyfile(source, folder / source.name)
    return folder / "pipeline.json"


def get_arguments(file: Path) -> dict[str, str]:
    """Return the runtime arguments of the sample pipeline."""
    return {"demo.folder": str(file.parent)}
