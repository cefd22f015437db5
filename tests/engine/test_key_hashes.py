from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

from localcdap.engine.tasks import key_hashes
from localcdap.engine.tasks.key_hashes import count_repeated, create_hash_writer

FEW = range(-(2**62), 2**62, 2**58)


def write(directory, batches):
    parts = [tuple(pa.array(half, pa.int64()) for half in halves) for halves in batches]
    told = list(create_hash_writer(str(directory))(iter(parts)))
    assert [len(each) for each in told] == [len(first) for first, _ in parts]
    return [text for each in told for text in each.to_pylist() if text is not None]


@pytest.mark.parametrize("at_once", [4_000_000, 50])
def test_repeated_hashes_are_counted_over_all_files(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(key_hashes, "_MOST_AT_ONCE", at_once)
    chance = random.Random(7)  # noqa: S311
    seen = Counter()
    told = []
    for _ in range(3):
        batches = []
        for size in (0, 1, 120):
            # equal first halves are not equal hashes
            rows = [
                (chance.choice(FEW), chance.choice([0, -1])) if chance.random() < 0.9 else None
                for _ in range(size)
            ]
            seen.update(row for row in rows if row is not None)
            batches.append([[row and row[i] for row in rows] for i in (0, 1)])
        told += write(tmp_path, batches)

    assert count_repeated(tmp_path, told) == seen.total() - len(seen) > 0
    assert list(tmp_path.iterdir()) == []


def test_what_a_task_wrote_and_did_not_tell_counts_nothing(tmp_path):
    first, _second = write(tmp_path, [([1, 2], [1, 2]), ([1, 1], [1, 1])])
    write(tmp_path, [([1, 2], [1, 2])])  # of a task that failed

    assert count_repeated(tmp_path, [first]) == 0


def test_hashes_that_are_missing_are_an_error(tmp_path):
    (told,) = write(tmp_path, [([1, 2], [1, 2])])
    file = tmp_path / told.partition(":")[0]
    file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(ValueError, match="31 bytes instead of 32"):
        count_repeated(tmp_path, [told])
    file.unlink()
    with pytest.raises(OSError, match="No such file"):
        count_repeated(tmp_path, [told])
