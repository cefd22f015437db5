"""Sessions of Wrangler: a recipe whose process is lost begins again, workspaces keep their process."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from localcdap.api.errors import SessionLostError
from localcdap.pipeline.method_calls import apply_recipe, build_recipe_stage
from localcdap.pipeline.methods import MethodCall, MethodPlugin
from localcdap.testing.instance import TemporaryInstance
from tests.sandbox.test_hostile import assert_ends

DIRECTIVE = """
import os, pathlib, signal
from localcdap.api.directive import Directive, Row, RowContext, argument, plugin

@plugin(type="directive", name="{name}", description="Kills its process as often as a file says.")
class Dies(Directive):
    folder: str = argument.text("Where the file is.")

    def change(self, row: Row, context: RowContext) -> None:
        folder = pathlib.Path(self.folder)
        if row.value("a") == "0":
            (folder / "pid").write_text(str(os.getpid()))
        if row.value("a") == "2500" and (left := int((folder / "left").read_text())):
            (folder / "left").write_text(str(left - 1))
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    folder = tmp_path_factory.mktemp("instance")
    (folder / "plugins").mkdir()
    (folder / "plugins" / "dies-1.0.0.py").write_text(DIRECTIVE.format(name="dies"))
    with TemporaryInstance(folder) as instance:
        yield instance


class Application:
    """A recipe on a file of 3,000 rows, whose output exists already."""

    def __init__(self, instance: TemporaryInstance, folder: Path) -> None:
        self._instance, self._folder = instance, folder
        (folder / "in.csv").write_text("a\n" + "\n".join(map(str, range(3000))) + "\n")
        self.output = folder / "out.csv"
        self.output.write_text("old")

    def begin(self, deaths: int) -> Generator[dict[str, Any]]:
        (self._folder / "left").write_text(str(deaths))
        files = {"output": str(self.output), "errors": str(self._folder / "errors")}
        task = {"input": {"path": str(self._folder / "in.csv")}, **files}
        stage = build_recipe_stage(f"dies '{self._folder}'")
        return apply_recipe(self._instance.cdap.methods, stage, task, "default")

    def kill_process(self) -> None:
        pid = int((self._folder / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        assert_ends(pid)

    def assert_complete(self) -> None:
        lines = self.output.read_text().split()
        assert lines == ["a", *map(str, range(3000))]
        self.assert_tidy("errors")

    def assert_tidy(self, *more: str) -> None:
        names = {each.name for each in self._folder.iterdir()}
        assert names == {"in.csv", "out.csv", "left", "pid", *more}


@pytest.fixture
def application(instance: TemporaryInstance, tmp_path: Path) -> Application:
    return Application(instance, tmp_path)


def test_a_process_that_crashes_twice_is_replaced(application, monkeypatch, caplog):
    monkeypatch.setattr("localcdap.pipeline.method_calls._STEP_S", 0.02)
    progress = list(application.begin(deaths=2))
    assert progress[-1]["rows_out"] == 3000
    application.assert_complete()
    assert (
        caplog.text.count("Method 'apply' of plugin 'Wrangler' lost its process, which was killed")
        == 2
    )


def test_a_process_that_crashes_each_time_is_given_up_with_its_cause(application, monkeypatch):
    monkeypatch.setattr("localcdap.pipeline.method_calls._STEP_S", 0.02)
    with pytest.raises(
        SessionLostError, match=r"lost 3 times; .*lost its process, which was killed"
    ):
        list(application.begin(deaths=4))
    assert application.output.read_text() == "old"
    application.assert_tidy()


def test_a_process_that_ends_between_two_steps_is_replaced(application, monkeypatch, caplog):
    monkeypatch.setattr("localcdap.pipeline.method_calls._STEP_S", 0.02)
    with contextlib.closing(application.begin(deaths=0)) as job:
        assert not next(job)["is_done"]
        application.kill_process()
        assert list(job)[-1]["rows_out"] == 3000
    application.assert_complete()
    assert caplog.text.count("lost") == 1
    assert "was lost: it was ended by a signal: Killed" in caplog.text


def test_a_directive_that_is_added_meanwhile_makes_the_recipe_begin_again(
    application, instance, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr("localcdap.pipeline.method_calls._STEP_S", 0.02)
    with contextlib.closing(application.begin(deaths=0)) as job:
        assert not next(job)["is_done"]
        added = tmp_path / "more-1.0.0.py"
        added.write_text(DIRECTIVE.format(name="more"))
        instance.drop(added)
        added.unlink()
        assert list(job)[-1]["rows_out"] == 3000
    application.assert_complete()
    assert "the artifacts that it uses have changed" in caplog.text


def test_a_workspace_that_is_opened_again_keeps_its_process(instance, tmp_path, caplog):
    """The guard of the process took another workspace of the same name for damage, and ended the process."""
    path = tmp_path / "in.csv"
    path.write_text("a\n1\n")
    source = {"workspace": "w", "source": {"file": {"path": str(path)}, "limit": 10}}
    for wanted in (source, source, {"workspace": "w"}):
        plugin = MethodPlugin("transform", "Wrangler", properties={"directives": "", "field": "*"})
        call = MethodCall(plugin, "workspace", wanted, session="again")
        assert instance.cdap.methods.call(call).answer["is_open"]
    assert "lost" not in caplog.text
