"""A repair takes what holds most, the rest of the file or a backup, and names what is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from localcdap.api.errors import DamagedStoreError
from localcdap.store.backup import check_database
from localcdap.store.commit_record import get_log_path
from localcdap.store.contents import count_missing, describe_missing, read_contents
from localcdap.store.repair import repair_database
from localcdap.store.store import Store

MOMENTS = {"old": 1_700_000_000_000, "new": 1_700_000_100_000, "last": 1_700_000_200_000}
STATES = {"old": {"old"}, "new": {"old", "new"}, "last": {"old", "new", "last"}}


def add(store: Store, name: str) -> None:
    """Deploy a pipeline, and run it."""
    with store.transaction() as tx:
        tx.execute(
            "INSERT INTO applications VALUES "
            "('default', ?, 1, 'v', '', '{}', '{}', '', '', ?, '{}')",
            [name, MOMENTS[name]],
        )
        tx.execute(
            "INSERT INTO runs (run, namespace, pipeline, starting, record, ended, tables_loaded) "
            "VALUES (?, 'default', ?, ?, '{}', true, true)",
            [f"run-{name}", name, MOMENTS[name]],
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two instances of killed processes, with their last commit in the log: ``young``, which has all of its
    commits there, and ``checkpointed``; and their backups, from before and after the last commits.
    """
    folder = tmp_path_factory.mktemp("made")
    with Store(folder / "used" / "x.duckdb") as store:
        for name in STATES:
            add(store, name)
            store.back_up(folder / f"{name}.backup")
            if name == "new":
                store.write_checkpoint()
        shutil.copytree(folder / "used", folder / "checkpointed")
    with Store(folder / "fresh" / "x.duckdb") as store:
        for name in STATES:
            add(store, name)
        shutil.copytree(folder / "fresh", folder / "young")
    return folder


def empty_file(path: Path) -> None:
    path.write_bytes(b"")


def cut_file(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def remove_log(path: Path) -> None:
    get_log_path(path).unlink()


def empty_log(path: Path) -> None:
    get_log_path(path).write_bytes(b"")


def halve_log(path: Path) -> None:
    data = get_log_path(path).read_bytes()
    get_log_path(path).write_bytes(data[: len(data) // 2])


def flip_bit_of_log(path: Path) -> None:
    data = bytearray(get_log_path(path).read_bytes())
    data[len(data) // 2] ^= 1
    get_log_path(path).write_bytes(data)


DAMAGES = [
    cut_file,
    remove_log,
    *(
        pytest.param(damage, marks=pytest.mark.slow)
        for damage in (empty_file, empty_log, halve_log, flip_bit_of_log)
    ),
]


@pytest.mark.parametrize("backup", ["", "old", "last"])
@pytest.mark.parametrize("instance", ["young", "checkpointed"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_most_that_there_is(
    made: Path, tmp_path: Path, damage: Callable[[Path], None], instance: str, backup: str
) -> None:
    path = shutil.copytree(made / instance, tmp_path / "home") / "x.duckdb"
    damage(path)
    with pytest.raises(DamagedStoreError):
        check_database(path)

    steps = repair_database(
        path,
        [made / f"{backup}.backup"] if backup else [],
        tmp_path / "home" / "backups" / "damaged.duckdb",
    )

    is_file_lost = damage in (empty_file, cut_file) or instance == "young"
    rest: set[str] = set() if is_file_lost else STATES["new"]
    expected = max(rest, STATES.get(backup, set()), key=len)
    with Store(path) as store:
        found = {name for (name,) in store.read("SELECT name FROM applications")}
        runs = {run for (run,) in store.read("SELECT run FROM runs")}
    assert found == expected, steps
    assert runs == {f"run-{name}" for name in expected}
    assert any(step.startswith("Lost:") for step in steps)


def test_what_a_later_backup_lacks_was_deleted(made: Path, tmp_path: Path) -> None:
    path = shutil.copytree(made / "checkpointed", tmp_path / "home") / "x.duckdb"
    with Store(path) as store, store.transaction() as tx:
        tx.execute("DELETE FROM applications WHERE name = 'old'")
    with Store(path) as store, store.transaction() as tx:
        tx.execute("INSERT INTO topics SELECT 'default', 'late', 1, 1, 1, 1")
        shutil.copytree(path.parent, tmp_path / "killed")
    path = tmp_path / "killed" / "x.duckdb"
    get_log_path(path).write_bytes(b"damaged")

    steps = repair_database(path, [made / "new.backup"], tmp_path / "damaged.duckdb")

    with Store(path) as store:
        assert store.read("SELECT name FROM applications ORDER BY 1") == [("last",), ("new",)]
    assert "backup" not in " ".join(steps)


def test_the_backup_with_the_latest_change_is_taken(made: Path, tmp_path: Path) -> None:
    path = shutil.copytree(made / "checkpointed", tmp_path / "home") / "x.duckdb"
    cut_file(path)

    backups = [made / f"{name}.backup" for name in ("old", "last", "new")]
    steps = repair_database(path, backups, tmp_path / "damaged.duckdb")

    assert steps[1] == f"Restored the backup that holds most, {made / 'last.backup'}."


def test_what_a_state_lacks_is_named(made: Path) -> None:
    old, last = (read_contents(made / f"{name}.backup") for name in ("old", "last"))

    assert list(describe_missing(old, last)) == [
        "2 pipelines (default/last, default/new)",
        "2 runs (run-last, run-new)",
    ]
    assert list(describe_missing(last, old)) == []
    assert count_missing(old, last) == 4
    assert count_missing(old, last, {"runs", "audit"}) == 2
    assert (old.moment, last.moment) == (MOMENTS["old"], MOMENTS["last"])
