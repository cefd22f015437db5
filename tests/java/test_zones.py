"""Time zones by name."""

from __future__ import annotations

import datetime

import pytest

from localcdap.java.dates.zones import parse_zone


@pytest.mark.parametrize(
    ("name", "hours"), [("UTC", 0), ("GMT-08:00", -8), ("+02", 2), ("Asia/Tokyo", 9), ("JST", 9)]
)
def test_zones_have_names(name, hours):
    moment = datetime.datetime(2020, 1, 1, tzinfo=parse_zone(name))

    assert moment.utcoffset() == datetime.timedelta(hours=hours)


@pytest.mark.parametrize("name", ["Mars/Base", "GMT+99", "", "../etc/passwd"])
def test_other_names_are_no_zones(name):
    with pytest.raises(ValueError, match="is not a time zone"):
        parse_zone(name)
