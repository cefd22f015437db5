"""Every kind of damage is found, reported, and repaired without more loss than reported."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from localcdap.api.errors import DamagedStoreError, DiskFullError, StoreError
from localcdap.store.backup import check_database
from localcdap.store.commit_record import get_log_path, get_record_path
from localcdap.store.file_header import HEADER_BYTES, compute_checksum, read_header
from localcdap.store.repair import repair_database
from localcdap.store.store import Store

BLOCK = 262_144
ROWS = 150_000


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the database of a killed process: two tables, and one row of `small` only in the log."""
    folder = tmp_path_factory.mktemp("killed")
    path = tmp_path_factory.mktemp("home") / "localcdap.duckdb"
    with Store(path) as store, store.transaction() as tx:
        tx.execute(
            "CREATE TABLE big AS SELECT i, sha256(i::VARCHAR) AS word FROM range(?) r(i)", (ROWS,)
        )
        tx.execute("CREATE TABLE small (id INTEGER PRIMARY KEY)")
        tx.execute("INSERT INTO small VALUES (1)")
    with Store(path) as store:
        for number in (2, 3):
            with store.transaction() as tx:
                tx.execute("INSERT INTO small VALUES (?)", (number,))
        for each in path.parent.iterdir():
            shutil.copy(each, folder)
    return folder


@pytest.fixture
def path(killed: Path, tmp_path: Path) -> Path:
    """The database of a killed process, to be damaged."""
    return shutil.copytree(killed, tmp_path / "home") / "localcdap.duckdb"


def repair(path: Path, *backups: Path) -> list[str]:
    return repair_database(path, backups, path.parent / "backups" / "damaged.duckdb")


def read(path: Path) -> tuple[int, list[int]]:
    """The number of rows of `big`, and the rows of `small`; the database takes new rows too."""
    with Store(path) as store:
        with store.transaction() as tx:
            tx.execute("INSERT INTO small VALUES (100)")
        small = [row[0] for row in store.read("SELECT id FROM small WHERE id < 100 ORDER BY id")]
        return store.read("SELECT count(*) FROM big")[0][0], small


def overwrite(path: Path, position: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def flip_bit(path: Path, position: int) -> None:
    data = path.read_bytes()
    overwrite(path, position, bytes([data[position] ^ 1]))


def find_block_of_big(path: Path) -> int:
    """The position of a block in the middle of the column `word`."""
    with Store(path) as store:
        found = store.read(
            "SELECT block_id FROM pragma_storage_info('big') "
            "WHERE column_name = 'word' AND segment_type = 'VARCHAR' AND persistent"
        )
    return HEADER_BYTES + found[len(found) // 2][0] * BLOCK


def refused(path: Path) -> DamagedStoreError:
    """The error with which the damaged database is refused; no file changes."""
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    with pytest.raises(DamagedStoreError) as caught:
        check_database(path)
    with pytest.raises(DamagedStoreError):
        Store(path).close()
    assert "doctor --repair" in str(caught.value.corrective_action)
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before
    return caught.value


def lost(steps: list[str]) -> list[str]:
    return [step for step in steps if step.startswith("Lost:")]


def test_the_log_of_a_killed_process_is_no_damage(path: Path):
    check_database(path)
    assert repair(path) == []
    assert read(path) == (ROWS, [1, 2, 3])


def test_a_lost_log_is_reported(path: Path):
    get_log_path(path).unlink()

    assert "is missing" in refused(path).message
    steps = repair(path)

    assert len(lost(steps)) == 1
    assert "is missing" in lost(steps)[0]
    assert read(path) == (ROWS, [1])


def test_a_log_that_is_put_back_loses_nothing(path: Path):
    log = get_log_path(path)
    log.rename(path.parent / "away")
    refused(path)
    (path.parent / "away").rename(log)

    assert repair(path) == []
    assert read(path) == (ROWS, [1, 2, 3])


def test_a_shortened_log_keeps_its_whole_commits(path: Path):
    log = get_log_path(path)
    log.write_bytes(log.read_bytes()[:-1])

    assert "committed bytes" in refused(path).message
    steps = repair(path)

    assert len(lost(steps)) == 1
    assert read(path) == (ROWS, [1, 2])
    assert (path.parent / "backups" / "damaged.duckdb.wal").exists()


@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.99])
def test_a_flipped_bit_in_the_log_is_reported(path: Path, part: float):
    log = get_log_path(path)
    flip_bit(log, int(log.stat().st_size * part))

    assert "write-ahead log" in refused(path).message
    steps = repair(path)

    rows, small = read(path)
    assert rows == ROWS
    assert small in ([1], [1, 2])
    assert lost(steps)


def test_an_empty_file_is_no_new_instance(path: Path):
    path.write_bytes(b"")

    assert "0 bytes" in refused(path).message
    steps = repair(path)

    assert lost(steps) == ["Lost: everything in it. The next start creates a new database."]
    assert (path.parent / "backups" / "damaged.duckdb.wal").exists()
    with Store(path) as store:
        assert store.read("SELECT count(*) FROM dataset_tables") == [(0,)]


def test_a_missing_file_with_a_log_is_no_new_instance(path: Path):
    path.unlink()

    assert "is missing" in refused(path).message
    assert lost(repair(path))


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 100, 9000, 2 * BLOCK, 0.5])
def test_a_truncated_file_gives_way_to_a_backup(path: Path, tmp_path: Path, size: float):
    backup, newer = tmp_path / "backup.duckdb", tmp_path / "no good.duckdb"
    with Store(shutil.copytree(path.parent, tmp_path / "whole") / path.name) as store:
        store.back_up(backup)
    newer.write_bytes(b"no good")
    whole = path.read_bytes()
    path.write_bytes(whole[: size if isinstance(size, int) else int(len(whole) * size)])

    refused(path)
    steps = repair(path, newer, backup)

    assert any(str(backup) in step for step in steps)
    assert lost(steps)[0].startswith("Lost: all changes after ")
    assert read(path) == (ROWS, [1, 2, 3])
    assert (path.parent / "backups" / "damaged.duckdb").exists()


def test_a_missing_end_without_data_loses_nothing(path: Path):
    with Store(path) as store, store.transaction() as tx:
        tx.execute(
            "CREATE TABLE filler AS SELECT sha256(i::VARCHAR) AS word FROM range(20000) r(i)"
        )
    with Store(path) as store, store.transaction() as tx:
        tx.execute("DROP TABLE filler")
    path.write_bytes(path.read_bytes()[:-1000])

    with pytest.raises(DamagedStoreError, match=r"1,000 bytes|damaged"):
        check_database(path)
    steps = repair(path)

    assert read(path) == (ROWS, [1, 2, 3])
    assert lost(steps) == []


def test_a_flipped_bit_costs_only_the_rows_beside_it(path: Path):
    flip_bit(path, find_block_of_big(path) + 5000)
    with pytest.raises(DamagedStoreError, match=r"table main\.big"):
        check_database(path)
    steps = repair(path)

    rows, small = read(path)
    assert small[:3] == [1, 2, 3]
    assert ROWS / 3 < rows < ROWS
    assert len(lost(steps)) == 1
    assert f"{ROWS - rows:,} of {ROWS:,} rows of table main.big" in lost(steps)[0]


def test_a_whole_backup_is_better_than_a_file_that_has_lost_rows(path: Path, tmp_path: Path):
    backup = tmp_path / "backup.duckdb"
    with Store(path) as store:
        store.back_up(backup)
    flip_bit(path, find_block_of_big(path) + 5000)

    steps = repair(path, backup)

    assert "backup.duckdb" in steps[1]
    assert read(path) == (ROWS, [1, 2, 3])


def test_a_file_that_has_lost_few_rows_is_better_than_a_backup_with_fewer(
    path: Path, tmp_path: Path
):
    backup = tmp_path / "backup.duckdb"
    with Store(path) as store:
        store.back_up(backup)
        with store.transaction() as tx:
            tx.execute("INSERT INTO big SELECT i + 150000, 'later' FROM range(200000) r(i)")
    flip_bit(path, find_block_of_big(path) + 5000)

    steps = repair(path, backup)

    assert "Created it again" in steps[1]
    assert read(path)[0] > ROWS


@pytest.mark.slow
@pytest.mark.parametrize("position", [3, 20, 4096 + 9, 4096 + 100, 8192 + 9, 8192 + 100])
def test_a_flipped_bit_in_a_header_is_repaired(path: Path, position: int):
    valid = 4096 if path.read_bytes()[4104:4112] > path.read_bytes()[8200:8208] else 8192
    flip_bit(path, position)

    refused(path)
    steps = repair(path)

    assert "header" in steps[1]
    if position > 4096 and position // 4096 * 4096 != valid:
        assert read(path) == (ROWS, [1])
        assert lost(steps) == [
            f"Lost: the changes in its write-ahead log, {path.parent}/backups/damaged.duckdb.wal."
        ]
    assert lost(steps)


def test_a_database_of_a_newer_duckdb_is_not_damaged(path: Path):
    sector = bytearray(path.read_bytes()[:4096])
    struct.pack_into("<Q", sector, 12, 9_999)
    struct.pack_into("<Q", sector, 0, compute_checksum(bytes(sector[8:])))
    overwrite(path, 0, bytes(sector))
    before = path.read_bytes()

    for use in (check_database, repair, Store):
        with pytest.raises(StoreError, match="another version of DuckDB") as caught:
            use(path)
        assert not isinstance(caught.value, DamagedStoreError)
        assert "Upgrade" in str(caught.value.corrective_action)
    assert path.read_bytes() == before


def test_without_space_a_repair_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch):
    flip_bit(path, find_block_of_big(path) + 5000)
    before = sorted(path.parent.iterdir())
    limits = shutil.disk_usage(path.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: limits._replace(free=0))

    with pytest.raises(DiskFullError, match="are needed"):
        repair(path)
    assert sorted(path.parent.iterdir()) == before


def test_the_header_knows_the_size_of_the_file(path: Path):
    with Store(path):
        pass
    header = read_header(path)

    assert header is not None
    assert header.bytes == path.stat().st_size
    assert not get_log_path(path).exists()


def test_the_record_belongs_to_one_state_of_the_database(path: Path, killed: Path):
    """A database opens, whatever state its record was written for."""
    with Store(path):
        pass  # a checkpoint: there is no log any more
    shutil.copy(get_record_path(killed / path.name), get_record_path(path))

    check_database(path)
    assert read(path) == (ROWS, [1, 2, 3])
