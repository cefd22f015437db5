"""The table of services names their classes for type checkers, and imports them at the first use."""

from __future__ import annotations

import pytest

from localcdap.host.service_table import SERVICES, ServiceTable


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_of_the_class_that_its_attribute_declares(name):
    entry = SERVICES[name]

    declared = ServiceTable.__annotations__[entry.attribute]
    assert declared == f"ServiceEntry[{entry.service.__name__}]"
    assert entry.service.__module__ == entry.module
