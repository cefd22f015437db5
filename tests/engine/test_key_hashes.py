from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from localcdap.engine.plan import expectations
from localcdap.engine.plan.expectations import count_repeated

FEW = range(-(2**62), 2**62, 2**58)


def write(directory, name, rows):
    (directory / name).write_bytes(np.array(rows, np.int64).tobytes())
    return name


@pytest.mark.parametrize("at_once", [4_000_000, 50])
def test_repeated_hashes_are_counted_over_all_files(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(expectations, "_MOST_AT_ONCE", at_once)
    chance = random.Random(7)  # noqa: S311
    # equal first halves are not equal hashes
    files = {
        f"keys-{size}": [(chance.choice(FEW), chance.choice([0, -1])) for _ in range(size)]
        for size in (0, 1, 120, 121)
    }
    seen = Counter(row for rows in files.values() for row in rows)

    names = [write(tmp_path, name, rows) for name, rows in files.items() if rows]

    assert count_repeated(tmp_path, names, seen.total()) == seen.total() - len(seen) > 0
    assert list(tmp_path.iterdir()) == []


def test_equal_first_halves_alone_are_no_repetition(tmp_path):
    names = [write(tmp_path, "one", [(1, 2), (2, 2)]), write(tmp_path, "other", [(1, 3), (2, 1)])]

    assert count_repeated(tmp_path, names, 4) == 0


def test_there_may_be_no_hashes_at_all(tmp_path):
    assert count_repeated(tmp_path, [], 0) == 0


def test_a_file_of_a_task_that_does_not_count_counts_nothing(tmp_path):
    name = write(tmp_path, "one", [(1, 2), (2, 1)])
    write(tmp_path, "other", [(1, 2)])  # of a task that failed

    assert count_repeated(tmp_path, [name], 2) == 0


def test_hashes_that_are_missing_are_an_error(tmp_path):
    name = write(tmp_path, "one", [(1, 2)])

    with pytest.raises(ValueError, match="16 bytes instead of 32"):
        count_repeated(tmp_path, [name], 2)
    (tmp_path / name).unlink()
    with pytest.raises(OSError, match="No such file"):
        count_repeated(tmp_path, [name], 1)
