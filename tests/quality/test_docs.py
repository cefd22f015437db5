"""What the README, the guides and their companions say must be so."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path

import click
import msgspec
import pytest

from localcdap.api import BatchSource
from localcdap.api.methods import find_plugin_methods, plugin_method
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.inspection import inspect_artifact
from localcdap.artifacts.version import ParentRange
from localcdap.cli.main import cli
from localcdap.pipeline_tests.reader import read_test
from localcdap.settings import OPTIONS, Settings, read_settings
from tests.quality.source_tree import REPOSITORY

GUIDES = sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md"))
MANUAL = ["README.md", *GUIDES]
DOCUMENTS = [*MANUAL, "CONTRIBUTING.md", "CHANGELOG.md"]


def text_of(document: str) -> str:
    return (REPOSITORY / document).read_text(encoding="utf-8")


def blocks(language: str, *documents: str) -> list[str]:
    """The fenced blocks of a language; those of README and guides where no document is named."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [block for name in documents or MANUAL for block in pattern.findall(text_of(name))]


def commands(*documents: str) -> list[list[str]]:
    """The words behind ``localcdap`` in the lines that are to be typed."""
    lines = [line for block in blocks("sh", *documents) for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("localcdap ")]


def rows(document: str, title: str) -> list[list[str]]:
    """The cells of the one table whose first column has this title."""
    form = rf"^\| {title} \|.*\n\| ---.*\n((?:\|.*\n)+)"
    (found,) = re.findall(form, text_of(document), re.MULTILINE)
    return [row.strip("| ").split(" | ") for row in found.splitlines()]


def in_backticks(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def anchors(document: str) -> set[str]:
    """What links into a document may name, made from its headings."""
    text = re.sub(r"^```.*?^```$", "", text_of(document), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_readme_has_one_line_to_start_and_one_to_test():
    setups = [block.strip() for block in blocks("sh") if "venv" in block]

    assert setups == [
        "python3 -m venv .venv && .venv/bin/pip install -q '.[all]' && .venv/bin/localcdap demo",
        (
            "python3 -m venv .venv && "
            ".venv/bin/pip install -q -c requirements.lock -e '.[test]' && .venv/bin/pytest -n 3"
        ),
    ]


def test_the_line_that_is_marked_as_the_test_line_is_the_one_to_test():
    text = text_of("README.md")

    assert text.count("<!-- test -->") == 1
    assert text.split("<!-- test -->\n```sh\n")[1].split("\n")[0].endswith(".venv/bin/pytest -n 3")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_placeholder_is_left(document):
    assert re.findall(r"@@|TODO|FIXME|XXX", text_of(document)) == []


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_that_is_shown_is_understood(words):
    name, *arguments = words
    command = cli.get_command(None, name)
    if isinstance(command, click.Group):
        name, command, arguments = command.resolve_command(click.Context(command), arguments)

    assert command is not None
    command.make_context(name, arguments)  # raises for options, choices and numbers of arguments


def test_the_readme_shows_every_command():
    assert {words[0] for words in commands("README.md")} == set(cli.list_commands(None))


def test_the_readme_has_the_keys_that_work_everywhere_and_none_that_there_is_not():
    from textual.binding import Binding, BindingsMap

    from localcdap.tui.app import StudioApp
    from localcdap.tui.base_app import BaseApp
    from localcdap.tui.commands import list_known_keys

    def keys_of(*bindings):
        return set(BindingsMap(bindings).key_to_bindings)

    cells = " ".join(row[0] for row in rows("README.md", "key")).replace("…", "`2 3 4 5 6 7 8`")
    named = [key.replace(",", "comma") for text in in_backticks(cells) for key in text.split()]
    shown = keys_of(*[Binding(key, "") for key in named])

    everywhere = [keys_of(binding) for binding in (*BaseApp.BINDINGS, *StudioApp.BINDINGS)]
    somewhere = [keys_of(binding) for binding in list_known_keys().values()]
    assert shown - set().union(*somewhere) == set()
    assert [keys for keys in everywhere if not keys & shown] == []


def test_the_readme_lists_the_plugins_that_come_along():
    artifacts = [
        p for p in (REPOSITORY / "plugins_dir").iterdir() if (p / "pyproject.toml").exists()
    ]
    found = [inspect_artifact(str(path), compute_digest(path)) for path in artifacts]
    plugins = defaultdict(set)
    for artifact in found:
        assert artifact.errors == []
        for plugin in artifact.plugins:
            plugins[plugin.type].add(plugin.name)

    listed = {row[0]: set(row[1].split(", ")) for row in rows("README.md", "type")}

    assert listed == plugins


def test_the_artifacts_that_come_along_are_named():
    listed = set(in_backticks(text_of("README.md").split("## Plugins")[1].split(" come with")[0]))
    folders = (REPOSITORY / "plugins_dir").glob("*/pyproject.toml")

    assert listed == {tomllib.loads(path.read_text())["project"]["name"] for path in folders}


def test_the_settings_that_are_listed_are_those_there_are_with_their_defaults():
    listed = {
        in_backticks(row[0])[0]: row[1] for row in rows("docs/instances-and-settings.md", "setting")
    }
    defaults = {key: getattr(Settings(), name) for key, name in OPTIONS.items()}

    assert {key for key in listed if key[0] != "["} == set(OPTIONS)
    for key, default in defaults.items():
        shown = tomllib.loads(f"value = {listed[key].strip('`')}")["value"] if default else None
        assert shown == (default or None), key


@pytest.mark.parametrize("text", blocks("toml"))
def test_the_toml_that_is_shown_is_read_as_what_it_is(tmp_path, text):
    content = tomllib.loads(text)

    if "pipeline" in content:
        file = tmp_path / "shown.test.toml"
        file.write_text(text, encoding="utf-8")
        for name in ("pipeline.json", "customers.csv", "expected.json"):
            (tmp_path / name).write_text("[]", encoding="utf-8")
        assert read_test(file)[1] == []
    elif "tool" in content:
        (parent,) = content["tool"]["localcdap"]["parents"]
        assert ParentRange.parse(parent)
    else:
        assert read_settings(text, tmp_path / "localcdap.toml", {}).origins


def python_block(part: str) -> str:
    """The one Python block that holds a text."""
    (block,) = [block for block in blocks("python") if part in block]
    return block


def test_the_plugin_that_is_shown_is_a_plugin(tmp_path):
    path = tmp_path / "shout-1.0.0.py"
    path.write_text(python_block('@plugin(name="Shout"'), encoding="utf-8")

    found = inspect_artifact(str(path), compute_digest(path))

    assert found.errors == []
    assert [p.name for p in found.plugins] == ["Shout"]


def test_the_directive_that_is_shown_is_one(tmp_path):
    path = tmp_path / "reverse-1.0.0.py"
    path.write_text(python_block('@plugin(name="text-reverse"'), encoding="utf-8")

    found = inspect_artifact(str(path), compute_digest(path))

    assert found.errors == []
    assert [p.name for p in found.plugins] == ["text-reverse"]


def test_the_method_that_is_shown_is_one():
    shown = {"msgspec": msgspec, "BatchSource": BatchSource, "plugin_method": plugin_method}
    exec(python_block("@plugin_method"), shown)

    assert list(find_plugin_methods(shown["Orders"])) == ["list-tables"]


@pytest.mark.slow
def test_the_edits_that_are_shown_can_be_made(tmp_path, monkeypatch):
    text = (REPOSITORY / "data" / "demo" / "pipeline.json").read_text(encoding="utf-8")
    (tmp_path / "pipeline.json").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = {}
    exec(python_block("cdap.editing.open"), shown)

    assert "Purchases" in shown["change"].stages
    assert shown["text"] == text


@pytest.mark.spark
def test_the_tests_that_are_shown_pass(tmp_path, monkeypatch, cdap_pipeline):
    (tmp_path / "shout.py").write_text(python_block('@plugin(name="Shout"'), encoding="utf-8")
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
    here = (REPOSITORY / document).parent
    broken = []
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text_of(document)):
        path, _, anchor = target.partition("#")
        file = (here / path).resolve() if path else REPOSITORY / document
        if not file.exists() or (anchor and anchor not in anchors(str(file))):
            broken.append(target)

    assert broken == []


def test_the_readme_links_every_guide():
    assert set(
        re.findall(r"^- \[[^]]+\]\((docs/\w[\w-]*\.md)\)", text_of("README.md"), re.MULTILINE)
    ) == set(GUIDES)


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_begins_with_its_contents(guide):
    beginning, _, rest = text_of(guide).partition("\n## ")
    titles = re.findall(r"^## (.+)$", f"## {rest}", re.MULTILINE)

    assert re.findall(r"\[([^]]+)\]\(#", beginning) == titles


def test_the_contributors_guide_lists_every_package():
    (plan,) = blocks("text", "CONTRIBUTING.md")
    folders = {p.parent.name for p in (REPOSITORY / "localcdap").glob("*/__init__.py")}

    assert set(re.findall(r"(?:^| {2,})(\w+) {2,}\S", plan, re.MULTILINE)) == folders


def test_the_script_of_the_checks_can_be_run():
    script = REPOSITORY / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


MODULES_WITH_EXAMPLES = [
    path
    for path in sorted((REPOSITORY / "localcdap").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", MODULES_WITH_EXAMPLES, ids=lambda p: p.stem)
def test_the_examples_in_docstrings_are_true(path: Path):
    name = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")

    assert doctest.testmod(importlib.import_module(name)).failed == 0


def find_definition(path: str) -> object:
    """The module, class or function at a path below the package ``localcdap``."""
    name = f"localcdap.{path}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module), attribute)


def glossary_rows() -> list[list[str]]:
    lines = [line for line in text_of("docs/glossary.md").splitlines() if line.startswith("| ")]
    return [
        line.strip("| ").split(" | ") for line in lines if not line.startswith(("| ---", "| term"))
    ]


@pytest.mark.parametrize("row", glossary_rows(), ids=lambda row: row[0])
def test_a_term_of_the_glossary_is_in_the_code(row):
    _, meaning, code = row
    paths = in_backticks(code)

    assert meaning
    assert paths
    assert all(find_definition(each) for each in paths)


def test_a_term_of_the_glossary_is_explained_once():
    terms = [term for row in glossary_rows() for term in row[0].split(", ")]

    assert sorted(set(terms)) == sorted(terms)
