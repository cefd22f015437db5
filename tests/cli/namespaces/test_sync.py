"""The command ``sync``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.cli.main import run
from tests.sync.workplace import Workplace, make_pipeline, open_workplaces

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def side(fresh_home: Callable[[Path], Path], tmp_path: Path) -> Iterator[Workplace]:
    with open_workplaces(fresh_home, tmp_path) as make:
        yield make()


@pytest.fixture
def command(side: Workplace, capsys: pytest.CaptureFixture[str]) -> Command:
    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["sync", *arguments, "--home", str(side.instance.home.path)])
        return code, *capsys.readouterr()

    return call


def test_status_says_what_differs_and_sync_makes_it_equal(side, command):
    side.deploy(make_pipeline())
    folder = str(side.folder)

    assert command("status", folder) == (1, "folder    + pipelines/orders.json\n", "")
    code, out, _ = command(folder)
    assert (code, out.splitlines()[-1]) == (0, "Synchronized: 0 changes in the instance, 1 file.")
    assert command("status", folder) == (0, "Nothing differs.\n", "")
    assert command(folder) == (0, "Nothing differs.\n", "")
    assert json.loads(command("status", folder, "--json")[1])["files"] == []


def test_a_conflict_is_shown_and_solved(side, command):
    side.deploy(make_pipeline())
    folder = str(side.folder)
    command(folder)
    side.write("pipelines/orders.json", make_pipeline(path="theirs.csv"))
    side.deploy(make_pipeline(path="mine.csv"))

    code, out, err = command(folder)

    address = "pipelines/orders#/config/stages/read/plugin/properties/path"
    assert code == 1
    assert out.splitlines() == [
        "conflict  pipelines/orders, stage 'read', property 'path'",
        "  before          in.csv",
        "  instance (ours) mine.csv",
        "  folder (theirs) theirs.csv",
        f"  --ours or --theirs '{address}'",
    ]
    assert err == "Nothing was changed.\n"
    code, out, err = command(folder, "--ours", address)
    assert code == 1
    assert "pipelines/orders.json is not in canonical form" in err
    code, out, err = command(folder, "--ours", address, "--yes")
    assert (code, err) == (0, "")
    assert "mine.csv" in (side.folder / "pipelines/orders.json").read_text()


def test_files_are_formatted_on_request(side, command):
    side.deploy(make_pipeline())
    folder, file = str(side.folder), side.folder / "pipelines/orders.json"
    command(folder)
    text = file.read_text()
    side.write("pipelines/orders.json", json.dumps(make_pipeline()))
    assert command(folder) == (0, "Nothing differs.\n", "")

    assert command("pull", folder, "--format")[:2] == (0, "Nothing differs.\n")
    assert command(folder, "--format")[0] == 0
    assert file.read_text() == text


def test_deletions_are_asked_about(side, command):
    for name in ("a", "b"):
        side.deploy(make_pipeline(name))
    folder = str(side.folder)
    command(folder)
    (side.folder / "pipelines/a.json").unlink()
    side.cdap.applications.delete("default", "b")

    code, out, err = command(folder)

    assert code == 1
    assert "pipelines/a will be deleted from the instance" not in out
    assert "No" not in out
    assert len(side.cdap.applications.list_applications("default")) == 1
    assert command(folder, "--restart", "--yes")[0] == 0
    assert side.names() == ["pipelines/a.json", "pipelines/b.json"]


def test_problems_are_all_said(side, command):
    side.write("pipelines/a.json", "{")
    side.write("drafts/b.json", "<<<<<<< x")

    code, out, err = command(str(side.folder))

    assert (code, out) == (1, "")
    assert err.count("File '") == 2
    assert "Nothing was changed." in err


def test_wrong_usage(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words, part in {
        "status": "Name one folder",
        "fetch x": "'fetch' is none of status, pull, push",
        "x --ours a --theirs a": "either --ours or --theirs",
        "pull nowhere": "There is no folder",
        "x --watch --json": "--watch prints lines",
        "status x --watch": "status changes nothing",
    }.items():
        code, _, err = command(*words.split())
        assert code in (1, 2)
        assert part in err
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_the_watch_follows_both_sides(side, tmp_path):
    side.deploy(make_pipeline())
    home = str(side.instance.home.path)
    program = [
        sys.executable,
        "-m",
        "localcdap.cli",
        "sync",
        str(side.folder),
        "--watch",
        "--home",
        home,
    ]
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(program, stdout=out, stderr=subprocess.STDOUT)
    try:
        file = side.folder / "pipelines/orders.json"
        wait(file.exists, process)
        document = side.read("pipelines/orders.json")
        document["config"]["description"] = "from the folder"
        side.write("pipelines/orders.json", document)
        wait(lambda: side.export()["config"]["description"] == "from the folder", process)
        side.deploy(make_pipeline("second"))
        wait((side.folder / "pipelines/second.json").exists, process)

        side.write("pipelines/second.json", make_pipeline("second", path="theirs.csv"))
        file.unlink()
        wait(lambda: "pipelines/orders will be deleted" in (tmp_path / "out").read_text(), process)
        assert side.cdap.applications.has_application("default", "orders")
        side.write("pipelines/third.json", "{")
        wait(
            lambda: "pipelines/third.json' is not valid JSON" in (tmp_path / "out").read_text(),
            process,
        )
    finally:
        process.terminate()
        process.wait()


def wait(is_so: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)


def test_help_loads_no_heavy_library():
    code = "from localcdap.cli.main import run; run(['sync', '--help']); print(sorted(sys.modules))"
    code = f"import sys; {code}"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    for name in ("duckdb", "textual", "pyspark", "watchdog"):
        assert f"'{name}'" not in found


def test_the_folder_is_made(side, command, tmp_path: Path):
    side.deploy(make_pipeline())

    assert command("push", str(tmp_path / "new" / "folder"))[0] == 0
    assert (tmp_path / "new" / "folder" / "pipelines" / "orders.json").exists()
