"""The directories into which the sinks of a preview write: they are removed with the preview."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

from localcdap.engine.commit import Staging, make_job_directory

_SINKS: Final = "sinks"


class ScratchStaging(Staging):
    """The staging directories of a preview, none of which becomes visible.

    :param run_directory: of the preview.
    """

    def __init__(self, run_directory: Path, run_id: str) -> None:
        super().__init__(run_directory, run_id)
        self._root: Final = run_directory / _SINKS
        self._numbers: Final = itertools.count()

    def create_directory(self, final: str, *, written_by_spark: bool = False) -> str:
        """Create an empty directory; whether ``final`` is free does not matter."""
        directory = self._root / str(next(self._numbers))
        directory.mkdir(parents=True)
        if written_by_spark:
            make_job_directory(directory)
        return str(directory)

    def block(self, table_directory: Path) -> None:
        """Do nothing: nothing of a preview stays."""
