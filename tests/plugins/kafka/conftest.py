"""One broker for the tests of a module; each test has topics of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.plugins.kafka.broker import run_broker


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    with run_broker() as address:
        yield address


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex}"
