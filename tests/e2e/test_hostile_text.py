"""No text of a pipeline, a plugin, a table or a user does anything to the terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click.utils
import pytest

from localcdap.api.schema import Schema
from localcdap.cli import main
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.store.store import Store
from localcdap.store.table_catalog import create_view
from localcdap.store.tables import NamespaceTables
from tests.e2e.pipelines import pipeline, stage, write

HOSTILE = "x\x1b]0;owned\x07\x1b[2J\x1b[8m\x9b31m\u202edlrow\u2066\x7f\x08y"
SHOWN = "x\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202edlrow\\u2066\\x7f\\x08y"
"""HOSTILE on a terminal; the colour sequence is left out."""
OWN_STYLES = re.compile(r"\x1b\[(0|1|3[0-7])m")
"""What click writes for the colours of localcdap's own texts."""
CONTROLS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]"
)
PLUGIN = f"""
from localcdap.api import PluginConfig, Transform, field, plugin

@plugin(type="transform", name="Mine", description={HOSTILE!r})
class Mine(Transform):
    class Config(PluginConfig):
        prefix: str = field({HOSTILE!r}, default={HOSTILE!r})

    def configure(self, stage):
        raise ValueError({HOSTILE!r})

    def transform(self, record, emit):
        emit(record)
"""


@pytest.fixture
def home(
    tmp_path: Path, fresh_home: Callable[[Path], Path], engine_directory: Path, monkeypatch
) -> Iterator[Path]:
    """An instance with hostile text wherever one may put it."""
    monkeypatch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(tmp_path / "engine"))
    home = fresh_home(tmp_path / "home")
    (home / "plugins" / "default").mkdir(parents=True)
    (home / "plugins" / "default" / "mine-1.0.0.py").write_text(PLUGIN)
    (home / "plugins" / "default" / "bad-1.0.0.py").write_text(f"raise ValueError({HOSTILE!r})")
    with Store(Home(home).database) as store, store.transaction() as tx:
        rows = tmp_path / "rows.parquet"
        store.read(f"COPY (SELECT chr(27) || ']0;owned' || chr(7) AS \"{HOSTILE}\") TO '{rows}'")
        row = Schema.parse(
            json.dumps(
                {"type": "record", "name": "r", "fields": [{"name": HOSTILE, "type": "string"}]}
            )
        )
        NamespaceTables(store).append(tx, "default", "t", row, [rows])
        create_view(tx, "default", f"v{HOSTILE}", row, f"SELECT '{HOSTILE}' AS hostile")
        create_view(tx, "default", "broken", row, f'FROM "{HOSTILE}"')
    with open_in_process(Home(home)):  # commands start quicker
        yield home


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, str]:
    """Pipeline files: a valid one, and one with failures."""
    source = stage("In", "batchsource", "File", path="/nowhere", format="text", referenceName="a")
    sink = stage(HOSTILE, "batchsink", "Trash", "trash-plugin", referenceName="b")
    named: dict[str, Any] = {"name": "named", "description": HOSTILE}
    valid = pipeline([source, sink], ("In", HOSTILE)) | named
    mine = stage("Mine", "transform", "Mine", "mine")
    mine["plugin"]["artifact"]["scope"] = "USER"
    lost = stage(HOSTILE + "2", "transform", HOSTILE, HOSTILE, **{HOSTILE: HOSTILE})
    invalid = pipeline(
        [source, mine, lost, sink],
        ("In", "Mine"),
        ("Mine", HOSTILE + "2"),
        (HOSTILE + "2", HOSTILE),
    )
    records = tmp_path / "records.json"
    records.write_text(json.dumps([{HOSTILE: HOSTILE}]))
    return {
        "valid": write(valid, tmp_path / "valid.json"),
        "invalid": write(invalid | named, tmp_path / "invalid.json"),
        "records": str(records),
    }


OF_MINE = ("--type", "transform", "--plugin", "Mine", "--description", HOSTILE)


def list_calls(documents: dict[str, str], folder: Path) -> list[tuple[str, ...]]:
    """Calls of every command, with hostile text in what they print."""
    return [
        *list_calls_about_the_instance(),
        *list_calls_about_datasets(),
        *list_calls_about_pipelines(documents),
        *list_calls_about_runs(documents),
        ("backup", str(folder / "missing" / HOSTILE)),
        ("restore", str(folder / "missing" / HOSTILE)),
        ("doctor",),
        ("doctor", "--skip-event", HOSTILE),
        (HOSTILE,),
    ]


def list_calls_about_the_instance() -> list[tuple[str, ...]]:
    return [
        ("namespaces", "create", "team", "--description", HOSTILE),
        ("namespaces",),
        ("namespaces", "create", HOSTILE),
        ("preferences", "set", f"{HOSTILE}={HOSTILE}"),
        ("preferences", "list"),
        ("connections", "put", HOSTILE),
        ("connections", "show", HOSTILE),
        ("connections",),
        ("topics", "create", HOSTILE),
        ("topics", HOSTILE),
        ("recordings", "set", HOSTILE, HOSTILE),
        ("recordings",),
        ("sync", "status", HOSTILE),
        ("server", HOSTILE),
        ("server", "status"),
        ("jobs",),
        ("jobs", "show", HOSTILE),
        ("secrets", "delete", HOSTILE),
        ("secrets",),
        ("artifacts",),
        ("artifacts", "--errors"),
        ("plugins",),
        ("plugins", "--type", "transform"),
        ("plugin", "transform", "Mine"),
        ("plugin", "transform", HOSTILE),
        ("capabilities",),
        ("call", "transform", "Mine", HOSTILE),
        ("templates", "create", HOSTILE, *OF_MINE),
        ("templates", "create", "mine", *OF_MINE),
        ("templates",),
        ("templates", "show", "mine"),
        ("apps",),
        ("apps", HOSTILE),
        ("tables",),
        ("tables", "t"),
        ("tables", HOSTILE),
        ("audit",),
        ("audit", f"{HOSTILE}/{HOSTILE}"),
        ("audit", "--user", HOSTILE),
        ("lineage", HOSTILE),
        ("openlineage",),
        ("openlineage", "--export", f"missing/{HOSTILE}"),
        ("lineage", "t", "--field", HOSTILE),
        ("lineage", "t", "--field", "no such field"),
        ("sql", "FROM t"),
        ("sql", f"SELECT '{HOSTILE}' AS \"{HOSTILE}\""),
        ("sql", f"SELECT {HOSTILE}"),
    ]


def list_calls_about_datasets() -> list[tuple[str, ...]]:
    return [
        ("datasets", "create", "d", "externalDataset", "-p", f"{HOSTILE}={HOSTILE}"),
        ("datasets", "create", HOSTILE, HOSTILE, "--description", HOSTILE),
        ("datasets", "update", "d", "--set", f"{HOSTILE}=x"),
        ("datasets", "show", "d"),
        ("datasets", "show", HOSTILE),
        ("datasets", "list"),
        ("datasets", "partitions", HOSTILE, "-w", f"{HOSTILE}={HOSTILE}"),
        ("datasets", "types"),
        ("datasets", "usage", HOSTILE),
        ("metadata", "add", f"{HOSTILE}/{HOSTILE}", "--tag", "t"),
        ("metadata", "add", f"{HOSTILE}/{HOSTILE}", "--tag", HOSTILE, "--property", f"{HOSTILE}=x"),
        ("metadata", "get", f"{HOSTILE}/{HOSTILE}"),
        ("metadata", "get", "datasets/t"),
        ("metadata", "get", HOSTILE),
        ("metadata", "search"),
        ("metadata", "search", HOSTILE),
        ("metadata", "export"),
        ("metadata", "remove", f"{HOSTILE}/{HOSTILE}", "--tag", HOSTILE),
    ]


def list_calls_about_pipelines(documents: dict[str, str]) -> list[tuple[str, ...]]:
    valid, invalid = documents["valid"], documents["invalid"]
    return [
        ("validate", valid),
        ("impact", valid),
        ("impact", invalid),
        ("impact", valid, "--against", HOSTILE),
        ("validate", valid, "--schemas"),
        ("validate", invalid),
        ("import", invalid),
        ("import", valid),
        ("import", valid, "--change", HOSTILE),
        ("pipelines",),
        ("pipelines", "named"),
        ("pipelines", HOSTILE),
        ("export", "named"),
        ("export", HOSTILE),
        ("drafts", "save", invalid, "--name", HOSTILE, "--description", HOSTILE),
        ("drafts", "save", invalid, "--name", "idea", "--description", HOSTILE),
        ("drafts",),
        ("drafts", "show", "idea"),
        ("drafts", "revisions", "idea"),
        ("diff", valid, invalid),
        ("record", invalid, HOSTILE, "--output", f"{HOSTILE}.json"),
        ("schedules", "add", "named", HOSTILE, "--cron", "0 1 * * *"),
        ("schedules", "add", "named", "nightly", "--cron", HOSTILE),
        ("schedules", "next", HOSTILE),
        ("schedules",),
        ("test", invalid),
        ("test", HOSTILE),
        ("prep", "apply", HOSTILE, invalid),
        ("prep", "apply", invalid, HOSTILE),
        ("new", "plugin", HOSTILE),
        ("new", HOSTILE),
    ]


def list_calls_about_runs(documents: dict[str, str]) -> list[tuple[str, ...]]:
    invalid = documents["invalid"]
    return [
        ("expectations", HOSTILE),
        ("report",),
        ("report", HOSTILE),
        ("run", invalid),
        ("run", HOSTILE),
        ("preview", invalid),
        ("debug", invalid, "Mine", "--records", documents["records"]),
        ("debug", invalid, HOSTILE),
        ("runs",),
        ("runs", HOSTILE),
        ("runs", f"--{HOSTILE}"),
        ("logs", HOSTILE),
        ("stop", HOSTILE),
        ("profiles",),
        ("engine", "status"),
        ("engine", HOSTILE),
        ("demo", HOSTILE),
        ("studio", HOSTILE),
    ]


@pytest.mark.slow
def test_no_command_lets_a_text_control_the_terminal(
    home: Path,
    documents: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch,
):
    # As on a terminal: click would otherwise strip sequences itself.
    monkeypatch.setattr(click.utils, "should_strip_ansi", lambda *_: False)
    monkeypatch.setenv("COLUMNS", "400")
    calls = list_calls(documents, tmp_path)
    shown: set[str] = set()
    faults: list[str] = []
    for call in calls:
        for options in ((), ("--json",)):
            code = main.run([*call, *options, "--home", str(home)])
            reported = capsys.readouterr()
            name = f"{call} {options}"
            if code == 3:
                faults.append(f"{name}: {reported.err[-500:]}")
            out = reported.out if options else OWN_STYLES.sub("", reported.out)
            for text in (out, OWN_STYLES.sub("", reported.err)):
                left = CONTROLS.search(text)
                if left is not None:
                    faults.append(f"{name}: {text[max(0, left.start() - 60) : left.end() + 30]!r}")
            if SHOWN in reported.out + reported.err:
                shown.add(call[0])
            if options and reported.out:
                try:
                    json.loads(reported.out)
                except ValueError:
                    faults.append(f"{name} prints other text than JSON: {reported.out[:300]!r}")

    assert faults == [], "\n".join(faults)
    assert set(main._COMMANDS) - {"browser", "completion"} <= {call[0] for call in calls}
    assert {
        "namespaces",
        "preferences",
        "plugins",
        "plugin",
        "sql",
        "validate",
        "pipelines",
    } <= shown
    assert {
        "import",
        "drafts",
        "templates",
        "diff",
        "artifacts",
        "export",
        "tables",
    } <= shown


def test_json_keeps_every_value(home: Path, capsys: pytest.CaptureFixture[str]):
    main.run(["preferences", "set", f"{HOSTILE}={HOSTILE}", "--home", str(home)])
    capsys.readouterr()
    main.run(["preferences", "--json", "--home", str(home)])

    out = capsys.readouterr().out
    assert str(json.loads(out)).count(repr(HOSTILE)) >= 1
    for escape in ("\\u001b", "\\u0007", "\\u009b", "\\u202e", "\\u2066", "\\u007f"):
        assert escape in out
