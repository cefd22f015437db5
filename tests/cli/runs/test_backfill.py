"""The times of ``--logical-start-time``."""

from __future__ import annotations

import pytest

from localcdap.cli.runs.run import set_logical_start


@pytest.mark.parametrize(
    ("time", "zone", "expected"),
    [
        ("2020-01-01", None, "1577836800000"),
        ("2020-01-01T06:30", None, "1577860200000"),
        ("2020-01-01T06:30", "Europe/Berlin", "1577856600000"),
        ("2020-07-01", "Europe/Berlin", "1593554400000"),  # daylight saving time
        ("2020-01-01T00:00:00.250+02:00", None, "1577829600250"),
        ("2018-11-04", "America/Sao_Paulo", "1541300400000"),  # this day begins at one o'clock
    ],
)
def test_a_time_becomes_the_argument(time, zone, expected):
    assert set_logical_start({"a": "b"}, time, zone) == {"a": "b", "logical.start.time": expected}


def test_without_the_option_the_arguments_stay():
    assert set_logical_start({"a": "b"}, None, None) == {"a": "b"}
