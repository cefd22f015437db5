"""Closes the database that tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.plugins.cloud.databases import close_database


@pytest.fixture(scope="session", autouse=True)
def shared_database() -> Iterator[None]:
    yield
    close_database()
