"""Files that are replaced: one way for the studio, the command line, the engine and the plugins."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.files.atomic import (
    FileReplacement,
    ReadOnlyFileError,
    replace_file,
    write_file,
    write_internal_file,
)

KILLED_AT_EACH_STEP = """
import itertools, json, os, signal, sys
from pathlib import Path
from localcdap.files.atomic import FileReplacement

path, old = Path(sys.argv[1]), sys.argv[2]
last = steps = 0

def count_calls(name):
    function = getattr(os, name)
    def call(*arguments, **options):
        global steps
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        return function(*arguments, **options)
    setattr(os, name, call)

def replace():
    for name in ("open", "write", "fsync", "chown", "chmod", "replace", "close"):
        count_calls(name)
    with FileReplacement(path) as replacement:
        file = os.open(replacement.new_file, os.O_WRONLY)
        os.write(file, b"half ")
        os.write(file, b"new")
        os.close(file)

contents = []
for last in itertools.count():
    path.unlink(missing_ok=True)
    if old:
        path.write_text(old)
    child = os.fork()
    if not child:
        replace()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    contents.append(path.read_text() if path.exists() else "")
    if not status:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
print(json.dumps(contents))
"""


@pytest.fixture(params=["a.csv", "."])
def guarded(request: pytest.FixtureRequest, tmp_path: Path):
    """A file that is read-only, or that is in a folder that is."""
    file = tmp_path / "a.csv"
    file.write_text("old")
    place = tmp_path / request.param
    mode = place.stat().st_mode
    place.chmod(mode & ~0o222)
    yield file
    place.chmod(mode)


@pytest.fixture
def umask_022():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(params=[True, False])
def can_be_unnamed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the system has files without a name."""
    if not request.param:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param and hasattr(os, "O_TMPFILE")


def read_mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def list_files(folder: Path) -> list[tuple[str, str]]:
    return sorted((file.name, file.read_text()) for file in folder.iterdir())


def test_what_is_read_only_is_not_replaced_for_anyone(guarded: Path):
    with pytest.raises(BadRequestError, match="read-only"):
        write_file(guarded, "new")
    with pytest.raises(ReadOnlyFileError):
        write_internal_file(guarded, b"new")
    assert list_files(guarded.parent) == [("a.csv", "old")]


def test_a_file_that_is_not_finished_leaves_the_old_one(tmp_path: Path, can_be_unnamed):
    file = tmp_path / "a.txt"
    write_file(file, "old")

    def fail(new_file: Path) -> None:
        new_file.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), replace_file(file) as new_file:
        fail(new_file)
    with FileReplacement(file) as replacement:
        replacement.new_file.write_text("half")
        replacement.discard()
    assert list_files(tmp_path) == [("a.txt", "old")]
    with pytest.raises(BadRequestError, match="cannot be written"):
        write_file(tmp_path / "no" / "a.txt", "x")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_the_mode_of_the_old_file_is_kept(tmp_path: Path, umask_022, can_be_unnamed, mode: int):
    file = tmp_path / "a.txt"
    file.write_text("old")
    file.chmod(mode)

    with replace_file(file) as new_file:
        assert read_mode(new_file) == 0o600
        new_file.write_text("new")

    assert read_mode(file) == mode
    assert list_files(tmp_path) == [("a.txt", "new")]


def test_a_new_file_has_no_name_until_it_is_complete(tmp_path: Path, can_be_unnamed):
    with FileReplacement(tmp_path / "a.txt") as replacement:
        replacement.new_file.write_text("new")
        assert len(list(tmp_path.iterdir())) == (not can_be_unnamed)
    assert list_files(tmp_path) == [("a.txt", "new")]
    assert not can_be_unnamed or not replacement.new_file.exists(), "its descriptor is closed"


def test_a_new_file_gets_what_the_umask_leaves(tmp_path: Path, umask_022):
    write_file(tmp_path / "a.txt", "new")
    os.umask(0o077)
    write_file(tmp_path / "b.txt", "new")

    assert [read_mode(tmp_path / name) for name in ("a.txt", "b.txt")] == [0o644, 0o600]


def test_a_mode_that_is_named_holds_for_a_new_and_an_old_file(tmp_path: Path, umask_022):
    file = tmp_path / "secret"
    write_internal_file(file, b"one", mode=0o600)
    assert read_mode(file) == 0o600
    file.chmod(0o644)

    write_internal_file(file, b"two", mode=0o600)

    assert (read_mode(file), file.read_bytes()) == (0o600, b"two")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_the_owner_of_the_old_file_is_kept(tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    os.chown(file, 1234, 2345)
    file.chmod(0o640)

    write_file(file, "new")

    status = file.stat()
    assert (status.st_uid, status.st_gid, read_mode(file)) == (1234, 2345, 0o640)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_another_group_does_not_get_what_the_old_one_could_do():
    code = """
import os, sys
from pathlib import Path
import localcdap.api.errors
from localcdap.files.atomic import write_file

os.setgroups([])
os.setgid(99)
os.setuid(99)
write_file(Path(sys.argv[1]), "new")
"""
    with tempfile.TemporaryDirectory() as folder:  # that of the test is closed to other users
        Path(folder).chmod(0o777)
        file = Path(folder, "a.txt")
        file.write_text("old")
        os.chown(file, 1234, 2345)
        file.chmod(0o664)

        subprocess.run([sys.executable, "-c", code, file], check=True)

        status = file.stat()
        assert (status.st_uid, status.st_gid, read_mode(file)) == (99, 99, 0o644)


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path):
    (tmp_path / "dotfiles").mkdir()
    file = tmp_path / "dotfiles" / "real.toml"
    file.write_text("old")
    link = tmp_path / "link.toml"
    link.symlink_to("dotfiles/real.toml")

    write_file(link, "new")

    assert (link.readlink(), file.read_text()) == (Path("dotfiles/real.toml"), "new")


def test_the_file_of_a_link_to_nothing_is_made(tmp_path: Path):
    (tmp_path / "link").symlink_to("real")

    write_file(tmp_path / "link", "new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_folder_and_a_loop_of_links_are_refused(tmp_path: Path):
    (tmp_path / "loop").symlink_to("loop")
    for path in (tmp_path, tmp_path / "loop"):
        with pytest.raises(BadRequestError, match="cannot be written"):
            write_file(path, "new")


def test_a_pipe_is_written_and_stays(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()

    write_file(pipe, "new")

    reader.join()
    assert (received, stat.S_ISFIFO(pipe.stat().st_mode)) == (["new"], True)


def test_the_standard_output_can_be_named():
    code = "from pathlib import Path; from localcdap.files.atomic import write_file; "
    code += "write_file(Path('/dev/stdout'), 'new')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "new"


def test_a_long_name_is_written(tmp_path: Path):
    for name in ("a" * 255, "ä" * 127):
        write_file(tmp_path / name, "new")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_program_may_make_the_new_file_again(tmp_path: Path):
    file = tmp_path / "a.txt"
    with FileReplacement(file, has_name=True) as replacement:
        replacement.new_file.unlink()
        replacement.new_file.write_text("new")
    assert list_files(tmp_path) == [("a.txt", "new")]

    with (
        pytest.raises(FileNotFoundError),
        FileReplacement(file, has_name=True) as replacement,
    ):
        replacement.new_file.unlink()
    assert list_files(tmp_path) == [("a.txt", "new")]


@pytest.mark.parametrize("content", ["ä\r\n", "ä\r\n".encode()])
def test_texts_are_utf_8_and_keep_the_ends_of_lines(tmp_path: Path, content: str | bytes):
    write_file(tmp_path / "a.txt", content)
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa4\r\n"


@pytest.mark.parametrize("old", ["old", ""])
def test_a_process_killed_at_any_step_leaves_the_old_or_the_new_content(tmp_path: Path, old: str):
    done = subprocess.run(
        [sys.executable, "-c", KILLED_AT_EACH_STEP, tmp_path / "a.txt", old],
        capture_output=True,
        text=True,
        check=True,
    )
    contents = json.loads(done.stdout)

    assert len(contents) > 8
    assert contents == sorted(contents, key=lambda content: content == "half new")
    assert set(contents) == {old, "half new"}
