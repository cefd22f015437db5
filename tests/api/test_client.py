"""The entry of Python programs."""

from __future__ import annotations

import re

from localcdap.api.client import connect
from localcdap.host.service_table import SERVICES


def test_the_description_names_every_service():
    names = set(re.findall(r"``(\w+)``", connect.__doc__ or ""))

    assert {entry.attribute for entry in SERVICES.values()} - names == set()
