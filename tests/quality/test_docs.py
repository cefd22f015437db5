"""What the README and its companions say must be so."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from localcdap.artifacts.contents import digest
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.cli.main import cli

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


def blocks(language: str, document: str = "README.md") -> list[str]:
    """The fenced blocks of a language."""
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_readme_has_one_line_to_start_and_one_to_test():
    setups = [block.strip() for block in blocks("sh") if "venv" in block]

    assert setups == [
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/localcdap demo",
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest -n 2",
    ]


def test_the_line_that_is_marked_as_the_test_line_is_the_one_to_test():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")

    assert text.count("<!-- test -->") == 1
    assert text.split("<!-- test -->\n```sh\n")[1].split("\n")[0].endswith(".venv/bin/pytest -n 2")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_placeholder_is_left(document):
    text = (REPOSITORY / document).read_text(encoding="utf-8")

    assert re.findall(r"@@|TODO|FIXME|XXX", text) == []


@pytest.mark.parametrize(
    "line",
    [
        line
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith("localcdap ")
    ],
)
def test_every_command_that_is_shown_exists_with_its_options(line):
    _, name, *arguments = shlex.split(line, comments=True)
    command = cli.get_command(None, name)
    if isinstance(command, click.Group):
        command = command.get_command(None, arguments[0])

    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    assert {a for a in arguments if a.startswith("-")} <= known


def python_block(part: str) -> str:
    """The one Python block that holds a text."""
    (block,) = [block for block in blocks("python") if part in block]
    return block


def test_the_plugin_that_is_shown_is_a_plugin(tmp_path):
    path = tmp_path / "shout-1.0.0.py"
    path.write_text(python_block('@plugin(type="transform"'), encoding="utf-8")

    found = inspect_artifact(str(path), digest(path))

    assert found.errors == []
    assert [p.name for p in found.plugins] == ["Shout"]


@pytest.mark.spark
def test_the_tests_that_are_shown_pass(tmp_path, monkeypatch, cdap_pipeline):
    (tmp_path / "shout.py").write_text(python_block('@plugin(type="transform"'), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    shown = {}
    exec(python_block("def test_stage"), shown)

    shown["test_stage"]()
    shown["test_in_a_pipeline"](cdap_pipeline)


def test_the_application_that_is_shown_passes_its_test(tmp_path, monkeypatch, cdap_app):
    path = tmp_path / "notebook.py"
    path.write_text(python_block("@application("), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    shown = {}
    exec(python_block("def test_notes"), shown)

    shown["test_notes"](cdap_app)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_into_the_repository_lead_somewhere(document):
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)

    assert [t for t in targets if not (REPOSITORY / t).exists()] == []


def test_the_rooms_of_the_contributors_guide_are_the_rooms_there_are():
    (plan,) = blocks("text", "CONTRIBUTING.md")
    folders = {p.parent.name for p in (REPOSITORY / "localcdap").glob("*/__init__.py")}

    assert set(re.findall(r"(?:^| {2,})(\w+) {2,}\S", plan, re.MULTILINE)) == folders


def test_the_script_of_the_checks_can_be_run():
    script = REPOSITORY / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
