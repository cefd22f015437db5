"""New artifacts as files: what is written, that it is sound, and that it is written whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.directories.identity import read_identity
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.authoring import artifact
from localcdap.authoring.artifact import derive_names, list_plugin_types, write_artifact

REPOSITORY = Path(__file__).resolve().parents[2]
NAMES = derive_names("CleanText")
TYPES = list_plugin_types()


def files(folder: Path) -> list[str]:
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def test_the_types_that_there_are_templates_for():
    assert set(TYPES) == {
        "action",
        "alertpublisher",
        "condition",
        "connector",
        "batchsource",
        "transform",
        "validatingInputFormat",
        "validatingOutputFormat",
        "batchaggregator",
        "batchjoiner",
        "sparkcompute",
        "sparkprogram",
        "sparksink",
        "splittertransform",
        "errortransform",
        "batchsink",
    }


@pytest.mark.parametrize("type", TYPES)
def test_an_artifact_is_written_whole_and_holds_its_plugin(tmp_path: Path, type: str):
    folder = write_artifact(NAMES, type, tmp_path / "new" / "place")

    assert folder == tmp_path / "new" / "place" / "clean-text-plugins"
    assert files(folder) == [
        "clean_text_plugins/__init__.py",
        "clean_text_plugins/clean_text.py",
        f"docs/CleanText-{type}.md",
        "pyproject.toml",
        "tests/test_clean_text.py",
    ]
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]
    assert "{{" not in "".join((folder / name).read_text() for name in files(folder))
    found = inspect_artifact(str(folder), compute_digest(folder))
    assert found.errors == []
    assert [(p.type, p.name) for p in found.plugins] == [(type, "CleanText")]
    assert (read_identity(folder).name, read_identity(folder).version) == (
        "clean-text-plugins",
        "1.0.0",
    )
    documented = (folder / "docs" / f"CleanText-{type}.md").read_text()
    assert all(f"| `{p.name}` |" in documented for p in found.plugins[0].properties)


@pytest.mark.slow  # mypy reads PySpark: 18 s
def test_an_artifact_with_a_dataset_type(tmp_path: Path):
    folder = write_artifact(derive_names("DailyRates"), artifact.DATASET, tmp_path)

    assert files(folder) == [
        "daily_rates_plugins/__init__.py",
        "daily_rates_plugins/daily_rates.py",
        "docs/DailyRates-dataset.md",
        "pyproject.toml",
        "tests/test_daily_rates.py",
    ]
    assert "{{" not in "".join((folder / name).read_text() for name in files(folder))
    found = inspect_artifact(str(folder), compute_digest(folder))
    assert found.errors == []
    assert [(each.name, each.reconfigurable) for each in found.dataset_types] == [
        ("DailyRates", True)
    ]


@pytest.mark.slow
def test_artifacts_are_formatted_linted_and_typed(tmp_path: Path):
    tools = Path(sys.executable).parent
    rules = "A,ANN,ARG,B,C4,D2,D3,E,F,I,N,PERF,PIE,PT,PTH,RET,RUF,S,SIM,T20,UP,W"
    ignored = "ANN401,ARG002,D203,D205,D212,D213,S101,A001,A002"
    for type in (*TYPES, artifact.DATASET):
        folder = write_artifact(derive_names(f"My{type.capitalize()}"), type, tmp_path)
        for command in (
            ["ruff", "format", "--check", "."],
            ["ruff", "check", "--select", rules, "--ignore", ignored, "--no-cache", "."],
        ):
            done = subprocess.run(
                [tools / command[0], *command[1:]], cwd=folder, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stdout + done.stderr
    places = sorted(str(folder) for folder in tmp_path.iterdir())
    done = subprocess.run(
        [
            tools / "mypy",
            "--strict",
            f"--config-file={REPOSITORY}/pyproject.toml",
            f"--cache-dir={tmp_path}/.mypy",
            *places,
        ],
        env=os.environ | {"MYPYPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("what", ["folder", "empty folder", "file", "broken link"])
def test_what_is_there_is_left_alone(tmp_path: Path, what: str):
    target = tmp_path / NAMES.artifact
    if what == "file":
        target.write_text("mine")
    elif what == "broken link":
        target.symlink_to(tmp_path / "nowhere")
    else:
        target.mkdir()
        if what == "folder":
            (target / "mine").touch()
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(ConflictError, match="exists already"):
        write_artifact(NAMES, "transform", tmp_path)

    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write(tmp_path: Path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(BadRequestError, match="Permission denied"):
            write_artifact(NAMES, "transform", tmp_path)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_place_that_is_no_folder(tmp_path: Path, place: str):
    (tmp_path / "file").touch()

    with pytest.raises(BadRequestError, match="cannot be written: ") as error:
        write_artifact(NAMES, "transform", tmp_path / place)

    assert "--directory" in error.value.corrective_action


def test_nothing_is_left_of_what_could_not_be_finished(tmp_path: Path, monkeypatch):
    written = Path.write_text

    def full(self, *args, **kwargs):
        if self.name.startswith("test_"):
            raise OSError(28, "No space left on device")
        return written(self, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", full)

    with pytest.raises(BadRequestError, match="No space left on device"):
        write_artifact(NAMES, "transform", tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_of_two_at_once_one_writes(tmp_path: Path, monkeypatch):
    appear = artifact._rename

    def other_first(draft: Path, target: Path) -> None:
        monkeypatch.setattr(artifact, "_rename", appear)
        write_artifact(NAMES, "batchsink", tmp_path)
        appear(draft, target)

    monkeypatch.setattr(artifact, "_rename", other_first)

    with pytest.raises(ConflictError, match="exists already"):
        write_artifact(NAMES, "transform", tmp_path)

    assert [each.name for each in tmp_path.iterdir()] == [NAMES.artifact]
    assert (tmp_path / NAMES.artifact / "docs" / "CleanText-batchsink.md").exists()
