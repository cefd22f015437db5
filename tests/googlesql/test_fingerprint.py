"""FARM_FINGERPRINT: the values of BigQuery's reference, and one for each way of hashing."""

from __future__ import annotations

import pytest

from localcdap.googlesql.fingerprint import farm_fingerprint


@pytest.mark.parametrize(
    ("text", "fingerprint"),
    [
        ("1footrue", -1541654101129638711),
        ("2applefalse", 2794438866806483259),
        ("3true", -4880158226897771312),
        ("abc", 2640714258260161385),
    ],
)
def test_fingerprints_are_those_of_the_reference(text: str, fingerprint: int):
    assert farm_fingerprint(text.encode()) == fingerprint
