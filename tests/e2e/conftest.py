"""A fresh instance for each test, on the one warm Spark server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.program import Program


@pytest.fixture
def program(tmp_path: Path, engine_directory: Path) -> Program:
    """The program on an instance of its own."""
    return Program(tmp_path / "home", {"LOCALCDAP_ENGINE_DIRECTORY": str(engine_directory)})
