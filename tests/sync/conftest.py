"""Instances with folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.sync.workplace import Workplace, open_workplaces


@pytest.fixture
def make_side(
    fresh_home: Callable[[Path], Path], tmp_path: Path
) -> Iterator[Callable[..., Workplace]]:
    """Makes an instance, and a folder for it."""
    with open_workplaces(fresh_home, tmp_path) as make:
        yield make


@pytest.fixture
def side(make_side: Callable[..., Workplace]) -> Workplace:
    return make_side()
