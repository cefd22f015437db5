"""``localcdap new plugin``"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.program import Program

pytestmark = pytest.mark.usefixtures("hosted")


def test_a_new_plugin_is_in_the_instance_at_once(program: Program):
    answer = program("new", "plugin", "CleanText")

    folder = program.home / "plugins" / "clean-text-plugins"
    assert answer.code == 0, answer.err
    assert f"Written to {folder}:" in answer.out
    assert f"-m pytest {folder}" in answer.out
    assert f"localcdap plugin transform CleanText --home {program.home}" in answer.out
    described = program("plugin", "transform", "CleanText", "--json")
    assert described.json["artifact"]["name"] == "clean-text-plugins"
    assert program("artifacts", "--errors", "--json").json == []


def test_elsewhere_it_says_how_it_gets_into_the_instance(program: Program, tmp_path: Path):
    place = tmp_path / "my work"

    answer = program("new", "plugin", "Lines", "--type", "batchsource", "--directory", str(place))

    assert answer.code == 0, answer.err
    (command,) = [line.strip() for line in answer.out.splitlines() if line.startswith("  mkdir")]
    assert not (program.home / "plugins").exists()
    assert os.system(command) == 0
    assert program("plugin", "batchsource", "Lines").code == 0


@pytest.mark.slow
def test_a_namespace_and_the_folder_of_the_settings(program: Program):
    program.settings('plugin.directories = ["mine"]\n')
    assert program("namespaces", "create", "sales").code == 0

    answer = program("new", "plugin", "Lines", "--namespace", "sales", "--json")

    path = program.home / "mine" / "sales" / "lines-plugins"
    assert answer.json == {
        "artifact": "lines-plugins",
        "type": "transform",
        "name": "Lines",
        "path": str(path),
    }
    assert (path / "pyproject.toml").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "reported"),
    [
        (["no-name"], 2, "'no-name' cannot be the name of a plugin class."),
        (["Transform"], 2, "a name of localcdap or of Python"),
        (["Projection"], 1, "There is a transform 'Projection' already, in artifact core-plugins"),
        (["X", "--type", "sparkle"], 2, "'sparkle' is not one of"),
        (["X", "--namespace", "../up"], 1, "Namespace '../up' does not exist"),
        (["X", "--directory", "{file}"], 2, "file"),
        (["X", "--directory", "{file}/below"], 2, "cannot be written"),
        ([], 2, "NAME"),
    ],
)
def test_what_cannot_be_written_is_reported_and_leaves_nothing(
    program: Program, tmp_path: Path, arguments: list[str], code: int, reported: str
):
    file = tmp_path / "file"
    file.touch()

    answer = program("new", "plugin", *[each.format(file=file) for each in arguments])

    assert answer.code == code, answer.err
    assert reported in answer.err
    assert not (program.home / "plugins").exists()
    assert file.read_text() == ""


@pytest.mark.slow
def test_a_name_is_taken_once_it_was_used(program: Program, tmp_path: Path):
    assert program("new", "plugin", "CleanText").code == 0
    sources = tmp_path / "sources"
    for name, reported in (("CleanText", "a transform 'CleanText'"), ("clean_text", "an artifact")):
        answer = program("new", "plugin", name, "--directory", str(sources))

        assert answer.code == 1
        assert f"There is {reported}" in answer.err
    assert not sources.exists()
