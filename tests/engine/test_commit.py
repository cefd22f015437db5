"""Sinks become visible together, whatever happens to the process in between."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from localcdap.api.errors import ConflictError
from localcdap.api.schema import Schema
from localcdap.engine import commit
from localcdap.engine.commit import CommitStep, Recovery, Staging, recover_commit
from localcdap.engine.messages.host import TableLoad

ROWS = Schema.record("rows", [("n", Schema.LONG.as_nullable)])


@pytest.fixture
def places(tmp_path):
    """The run's directory, and two final places in different folders."""
    run = tmp_path / "run"
    run.mkdir()
    return run, tmp_path / "out" / "one", tmp_path / "two"


def stage(staging, *finals):
    for final in finals:
        place = Path(staging.create_directory(str(final)))
        (place / "part-0").write_text(final.name, encoding="utf-8")


def hidden(folder):
    return list(folder.rglob(".*localcdap-*"))


def test_nothing_is_visible_before_and_everything_after(places, tmp_path):
    run, one, two = places
    staging = Staging(run, "r1")
    stage(staging, one, two)
    assert not one.exists()
    assert not two.exists()
    load = TableLoad("default", "t", ROWS, "n", "/rows")

    journal = staging.commit([load])

    assert (one / "part-0").read_text(encoding="utf-8") == "one"
    assert (two / "part-0").read_text(encoding="utf-8") == "two"
    assert hidden(tmp_path) == []
    assert journal.table_loads == [load]


def test_an_empty_final_directory_is_used(places):
    run, one, _ = places
    one.mkdir(parents=True)
    staging = Staging(run, "r1")
    stage(staging, one)

    staging.commit([])

    assert (one / "part-0").exists()


@pytest.mark.parametrize("taken", ["file", "directory"])
def test_a_final_place_that_holds_something_is_refused(places, taken):
    run, one, _ = places
    one.parent.mkdir(parents=True)
    if taken == "file":
        one.touch()
    else:
        one.mkdir()
        (one / "old").touch()

    with pytest.raises(ConflictError, match="already exists"):
        Staging(run, "r1").create_directory(str(one))


def test_two_sinks_with_one_final_place_are_refused(places):
    run, one, _ = places
    staging = Staging(run, "r1")
    staging.create_directory(str(one))

    with pytest.raises(ConflictError, match="two sinks"):
        staging.create_directory(f"{one}/../one")


@pytest.mark.parametrize(("first", "second"), [("a", "a/b"), ("a/b", "a")])
def test_a_place_inside_that_of_another_sink_is_refused(places, first, second):
    run, one, _ = places
    staging = Staging(run, "r1")
    staging.create_directory(str(one / first))

    with pytest.raises(ConflictError, match="two sinks write to '.*' and to '"):
        staging.create_directory(str(one / second))
    staging.create_directory(str(one / "ab"))


def test_a_place_that_is_taken_meanwhile_is_refused_and_nothing_is_visible(places):
    run, one, two = places
    staging = Staging(run, "r1")
    stage(staging, one, two)
    two.mkdir()
    (two / "other").touch()

    with pytest.raises(ConflictError):
        staging.commit([])

    assert not one.exists()


def test_files_that_are_removed_meanwhile_are_an_error_and_nothing_is_visible(places):
    run, one, two = places
    staging = Staging(run, "r1")
    stage(staging, one, two)
    (removed,) = hidden(two.parent / "out")
    shutil.rmtree(removed)

    with pytest.raises(ConflictError, match=f"the files for '{one}' were removed"):
        staging.commit([])

    assert not two.exists()


def test_a_link_leads_to_the_directory_that_is_written(places, tmp_path):
    run, one, two = places
    one.mkdir(parents=True)
    two.symlink_to(one, target_is_directory=True)
    staging = Staging(run, "r1")
    stage(staging, two)
    with pytest.raises(ConflictError, match="two sinks"):
        staging.create_directory(str(one))

    staging.commit([])

    assert (one / "part-0").exists()
    assert two.is_symlink()


def test_a_mount_point_is_refused_before_anything_is_written(places, tmp_path, monkeypatch):
    run, one, _ = places
    place = one.with_name("with blank")
    place.mkdir(parents=True)
    mounts = tmp_path / "mountinfo"
    escaped = str(place).replace(" ", "\\040")
    mounts.write_text(f"1 2 8:1 / / rw - ext4 /dev/sda rw\n3 1 8:1 /x {escaped} rw - ext4 d rw\n")
    monkeypatch.setattr(commit, "_MOUNTS", mounts)

    with pytest.raises(ConflictError, match="is a mount point") as caught:
        Staging(run, "r1").create_directory(str(place))

    assert caught.value.corrective_action == "Write to a directory below it."
    assert hidden(tmp_path) == []


def block(monkeypatch, *faults):
    """Have steps fail, by the name of the path that they are about."""

    def fail(step, subject):
        if (step, Path(subject).name) in faults:
            raise OSError("it does not work")

    monkeypatch.setattr(commit, "observers", [fail])


def test_a_directory_that_cannot_be_renamed_takes_the_others_back(places, monkeypatch, tmp_path):
    run, one, two = places
    staging = Staging(run, "r1")
    stage(staging, one, two)
    block(monkeypatch, (CommitStep.MOVE, "two"))

    with pytest.raises(ConflictError, match=f"the files for '{two}' cannot be put in place"):
        staging.commit([])
    staging.roll_back()

    assert not one.exists()
    assert hidden(tmp_path) == []
    assert recover_commit(run) == (Recovery.ROLLED_BACK, None)


def test_what_cannot_be_taken_back_is_named(places, monkeypatch):
    run, one, two = places
    staging = Staging(run, "r1")
    stage(staging, one, two)
    block(monkeypatch, (CommitStep.MOVE, "two"), (CommitStep.MOVE_BACK, "one"))

    with pytest.raises(ConflictError, match=f"What was written to '{one}' could not be taken back"):
        staging.commit([])


def interrupt(places, monkeypatch):
    """A commit that is decided; the process is killed before the first directory is renamed."""
    run, one, two = places
    staging = Staging(run, "r1")
    stage(staging, one, two)

    class Killed(BaseException):
        pass

    def kill(step, _):
        if step is CommitStep.MOVE:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(commit, "observers", [kill])
        with pytest.raises(Killed):
            staging.commit([])


def test_a_recovery_that_cannot_rename_undoes_the_commit(places, monkeypatch, tmp_path):
    run, one, two = places
    interrupt(places, monkeypatch)
    two.write_text("taken")

    with pytest.raises(ConflictError, match="cannot be put in place"):
        recover_commit(run)

    assert not one.exists()
    assert two.read_text() == "taken"
    assert hidden(tmp_path) == []
    assert recover_commit(run) == (Recovery.ROLLED_BACK, None)


def test_a_removed_staging_directory_is_no_renamed_one(places, monkeypatch, tmp_path):
    run, one, two = places
    interrupt(places, monkeypatch)
    for each in hidden(tmp_path):
        shutil.rmtree(each)
    two.mkdir()  # by somebody else

    with pytest.raises(ConflictError, match=f"the files for '{one}' were removed"):
        recover_commit(run)

    assert not one.exists()
    assert two.is_dir()


def test_a_directory_with_the_number_of_a_removed_one_is_another(places, monkeypatch, tmp_path):
    run, one, two = places
    interrupt(places, monkeypatch)
    first, second = sorted(hidden(tmp_path), key=lambda each: "two" in each.name)
    shutil.rmtree(first)
    (second / "part-0").rename(tmp_path / "kept")  # so that the new file gets another number
    second.rename(two)
    (two / "part-0").touch()

    with pytest.raises(ConflictError, match="were removed"):
        recover_commit(run)

    assert (two / "part-0").exists()


def test_roll_back_removes_what_was_staged(places, tmp_path):
    run, one, two = places
    staging = Staging(run, "r1")
    stage(staging, one, two)

    staging.roll_back()

    assert hidden(tmp_path) == []
    assert not one.exists()


def test_what_still_writes_fails_once_blocked_and_nothing_stays(places, tmp_path):
    run, one, two = places
    staging = Staging(run, "r1")
    written = Path(staging.create_directory(str(one), written_by_spark=True))
    stage(staging, two)
    tables = run / "tables"
    (tables / "0").mkdir(parents=True)
    assert [p.name for p in written.rglob("*")] == ["_temporary", "0"]

    staging.block(tables)

    for directory in (written, tables):
        with pytest.raises((NotADirectoryError, FileExistsError)):
            (directory / "_temporary/0/task").mkdir(parents=True)
    staging.roll_back()
    assert hidden(tmp_path) == []


def test_a_decided_commit_is_not_blocked(places, tmp_path):
    run, one, _ = places
    staging = Staging(run, "r1")
    stage(staging, one)
    (run / "tables").mkdir()
    staging.commit([])

    staging.block(run / "tables")

    assert (one / "part-0").exists()
    assert (run / "tables").is_dir()


def test_a_recovery_removes_what_was_blocked(places, tmp_path):
    run, one, _ = places
    staging = Staging(run, "r1")
    stage(staging, one)
    staging.block(run / "tables")

    assert recover_commit(run) == (Recovery.ROLLED_BACK, None)

    assert hidden(tmp_path) == []


CHILD = textwrap.dedent(
    """
    import os, pathlib, signal, sys
    from localcdap.api.schema import Schema
    from localcdap.engine import commit
    from localcdap.engine.commit import Staging
    from localcdap.engine.messages.host import TableLoad

    steps = iter(range(10_000))
    last = int(sys.argv[1])

    def dying(function):
        # Each call that changes the disk is a point at which the process may be killed.
        def call(*args, **kwargs):
            if next(steps) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)
        return call

    for owner, name in [
        (pathlib.Path, "mkdir"), (pathlib.Path, "rename"), (pathlib.Path, "open"), (os, "fsync"),
    ]:
        setattr(owner, name, dying(getattr(owner, name)))
    run, one, two = map(pathlib.Path, sys.argv[2:])
    staging = Staging(run, "r1")
    for final in (one, two):
        place = pathlib.Path(staging.create_directory(str(final)))
        (place / "part-0").write_text(final.name, encoding="utf-8")
    rows = Schema.record("rows", [("n", Schema.LONG.as_nullable)])
    staging.commit([TableLoad("default", "t", rows, "n", "/rows")])
    """
)


def run_child(kill_at: int, places) -> int:
    root = Path(commit.__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(kill_at), *map(str, places)],
        env=os.environ | {"PYTHONPATH": str(root)},
        check=False,
    ).returncode


@pytest.mark.slow
def test_a_kill_at_any_point_leaves_everything_or_nothing(tmp_path):
    seen = set()
    for kill_at in range(100):
        root = tmp_path / str(kill_at)
        run = root / "run"
        run.mkdir(parents=True)
        one, two = root / "out" / "one", root / "two"

        returned = run_child(kill_at, (run, one, two))
        outcome, journal = recover_commit(run)
        seen.add(outcome)

        complete = outcome is Recovery.COMMITTED
        assert (one / "part-0").exists() is complete
        assert (two / "part-0").exists() is complete
        assert hidden(root) == []
        assert (journal is not None) is complete
        assert recover_commit(run)[0] is outcome
        if returned == 0:
            break
    assert returned == 0
    assert seen == {Recovery.COMMITTED, Recovery.ROLLED_BACK}
    assert journal.table_loads[0].schema == ROWS


def test_a_record_that_was_cut_off_is_ignored(places):
    run, one, _ = places
    stage(Staging(run, "r1"), one)
    with (run / "staging.jsonl").open("ab") as file:
        file.write(b'{"staging":"/nowh')

    assert recover_commit(run) == (Recovery.ROLLED_BACK, None)
    assert hidden(one.parent) == []
