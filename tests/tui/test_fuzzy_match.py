"""What filters find, and in which order."""

from __future__ import annotations

import pytest

from localcdap.tui.lists import match_query, rank_matches

PLUGINS = [
    "Time partitioned fileset", "File batchsource", "CSVParser transform", "BigQueryTable batchsource",
    "Table", "Projection transform", "RecordSplitter splittertransform",
]  # fmt: skip


def find(query: str) -> list[str]:
    return [item for item, _ in rank_matches(query, ((name, name) for name in PLUGINS))]


def test_an_empty_query_keeps_all_in_their_order():
    assert find("") == find("  ") == PLUGINS


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("table", ["Table", "BigQueryTable batchsource"]),
        ("parse", ["CSVParser transform"]),
        ("rec", ["RecordSplitter splittertransform"]),
        ("batch file", ["File batchsource"]),
        ("PROJ", ["Projection transform"]),
        ("cpt", ["CSVParser transform"]),
        ("zzz", []),
    ],
)
def test_the_best_is_first_and_scattered_letters_are_left_out_beside_it(query, found):
    assert find(query) == found


def test_the_matched_letters_are_known():
    found = match_query("sv pa", "CSVParser")

    assert found is not None
    assert found[1] == [1, 2, 3, 4]
    assert match_query("sv x", "CSVParser") is None
