"""A monkey at the studio: random keys, clicks and sizes on a temporary instance, repeatable by their seed.

It is caged: the paths it types lie in its own folder, and what it builds does not run, as a pipeline of its
making may well write and delete files anywhere.

``python -m tests.tui.stories.monkey --events 10000 --seed 7`` lets one go at it for some minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import pkgutil
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from unittest import mock

import click
import psutil
from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key
from textual.worker import WorkerFailed

from localcdap.api.errors import EngineError
from localcdap.home import Home, find_shipped_data, find_shipped_plugins
from localcdap.host.cdap import open_in_process
from localcdap.pipeline.library.application_model import DeployRequest, DraftRequest
from localcdap.tui.app import StudioApp
from localcdap.tui.service_calls import HostConnection

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHJKLMNOPRSTUVXYZ0123456789/?:,.-_+*=<>[]{}'\"$"
KEYS = [
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab", "shift+tab") * 4,
    *("enter", "escape", "space", "backspace", "delete") * 6,
    *(f"ctrl+{letter}" for letter in "abcdefghijklmnoprstuvwxyz"),  # but for ctrl+q, which leaves
    *(f"shift+{arrow}" for arrow in ("up", "down", "left", "right")),
    *(f"f{number}" for number in range(1, 13)),
]
SIZES = [(80, 24), (160, 48), (100, 30), (40, 12), (200, 60)]


class Monkey:
    """:param seed: the same one does the same, as far as the studio answers in the same time."""

    def __init__(self, app: StudioApp, seed: int) -> None:
        self._app = app
        self._random = random.Random(seed)
        self.did: deque[str] = deque(maxlen=60)

    async def play(self, count: int) -> int:
        """Returns how many events there were: fewer than asked for when one of them left the studio.

        :raises AssertionError: when the studio breaks; tells why and what was done last.
        """
        done = 0
        try:
            async with self._app.run_test(size=SIZES[0]):
                while not self._app.connected:
                    await asyncio.sleep(0.02)
                for done in range(1, count + 1):
                    await self._one()
                    if done % 20 == 1:
                        await self._answers()
                    if done % 1000 == 0:
                        memory = psutil.Process().memory_info().rss >> 20
                        click.echo(f"{done} events, {memory} MB of memory", err=True)
                    if self._app.fault is not None or not self._app.is_running:
                        break
                await self._answers()
        except BaseException as error:
            raise AssertionError(self._last_words(self._app.fault or error)) from None
        assert self._app.fault is None, self._last_words(self._app.fault)
        self._check_reports()
        return done

    async def _one(self) -> None:
        chance = self._random.random()
        if chance < 0.02:
            self._resize(*self._random.choice(SIZES))
        elif chance < 0.12:
            self._click(
                self._random.randrange(self._app.size.width),
                self._random.randrange(self._app.size.height),
                self._random.choice([1, 1, 1, 2]),
            )
        elif chance < 0.14:
            self.did.append("wait")
            await asyncio.sleep(0.1)
        else:
            self._press(self._random.choice(KEYS if chance < 0.55 else LETTERS))
        # Some come while the one before is not done with, as when somebody types fast.
        await asyncio.sleep(0.02 if self._random.random() < 0.3 else 0.001)

    def _press(self, key: str) -> None:
        self.did.append(key)
        character = key if len(key) == 1 else {"space": " "}.get(key)
        name = _character_to_key(key) if len(key) == 1 else key
        self._app.post_message(events.Key(name, character))

    def _click(self, x: int, y: int, times: int) -> None:
        self.did.append(f"click({x},{y})x{times}")
        for _ in range(times):
            for kind in (events.MouseMove, events.MouseDown, events.MouseUp):
                self._app.post_message(
                    kind(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y)
                )

    def _resize(self, width: int, height: int) -> None:
        self.did.append(f"resize({width},{height})")
        size = Size(width, height)
        self._app._driver._size = size
        self._app.post_message(events.Resize(size, size))

    async def _answers(self) -> None:
        """:raises AssertionError: when the app or its screen hangs; says what its tasks wait for."""
        for node in (self._app, self._app.screen):
            answered = asyncio.Event()
            if not node.call_later(answered.set):
                continue
            try:
                await asyncio.wait_for(answered.wait(), 20)
            except TimeoutError:
                # One that has been left while it was asked does not answer any more.
                if self._app.fault is None and self._app.is_running:
                    raise AssertionError(f"{node} hangs:\n{_waiting()}") from None

    def _last_words(self, error: BaseException) -> str:
        if isinstance(error, WorkerFailed):
            error = error.error
        return f"{''.join(traceback.format_exception(error))}\nafter {' '.join(self.did)}"

    def _check_reports(self) -> None:
        """A fault in a call of a service leaves a report and goes on; here it is a failure."""
        folder = self._app.connection.home.reports
        found = [each.read_text() for each in folder.iterdir()] if folder.is_dir() else []
        assert not found, "\n\n".join(found)


def _waiting() -> str:
    """What the tasks of a studio that hangs wait for, but for those that wait for the next message."""
    reported = []
    for task in asyncio.all_tasks():
        frames, waiting = [], task.get_coro()
        while waiting is not None and getattr(waiting, "cr_frame", None) is not None:
            frames.append(f"{waiting.cr_frame.f_code.co_filename}:{waiting.cr_frame.f_lineno}")
            waiting = waiting.cr_await
        if not any("_queue.py" in frame or "timer.py" in frame for frame in frames):
            reported.append("\n  ".join([task.get_name(), *frames]))
    return "\n".join(reported)


@contextlib.contextmanager
def cage(folder: Path) -> Iterator[Home]:
    """An instance, a working folder, a user's folder and shipped plugins that may be spoilt; no way out."""
    plugins = folder / "shipped"
    shutil.copytree(find_shipped_plugins(), plugins, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "user").mkdir()
    (folder / "work").mkdir()
    home = Home(folder / "home")
    places = {
        "HOME": str(folder / "user"),
        "XDG_CONFIG_HOME": str(folder / "user"),
        "XDG_STATE_HOME": str(folder / "user"),
        "EDITOR": "true",
        "VISUAL": "true",
    }

    def inside(typed: str) -> Path:
        parts = [part for part in Path(typed).parts if part not in ("/", "..") and part[:1] != "~"]
        return (folder / "work").joinpath(*parts)

    before = Path.cwd()
    os.chdir(folder / "work")
    try:
        with (
            mock.patch.dict(os.environ, places),
            mock.patch("localcdap.host.data_services.find_shipped_plugins", return_value=plugins),
            mock.patch("localcdap.tui.dialogs.path_dialog.expand_path", inside),
            mock.patch(
                "localcdap.tui.screens.settings.settings_file.write",
                side_effect=OSError("not for monkeys"),
            ),
            _refuse("localcdap.runs.service.RunService.start"),
            _refuse("localcdap.runs.preview.service.PreviewService.start"),
            _refuse("localcdap.runs.debug.service.DebugService.debug"),
        ):
            yield home
    finally:
        os.chdir(before)


def _refuse(method: str) -> contextlib.AbstractContextManager[object]:
    """Have a method of a service raise. It stays a function, from which calls by clients can be made."""

    @functools.wraps(pkgutil.resolve_name(method))
    def refuse(*_: object, **__: object) -> NoReturn:
        raise EngineError("Monkeys have no Spark.", "Watch it type.")

    return mock.patch(method, refuse)


def furnish(home: Home, corpus: Path | None = None) -> None:
    """Something in every area: deployed pipelines, drafts, files, namespaces, keys."""
    demo = (find_shipped_data() / "demo" / "pipeline.json").read_text()
    with open_in_process(home) as cdap:
        cdap.applications.deploy(DeployRequest(demo, name="demo"))
        cdap.applications.deploy(DeployRequest(demo, name="demo", change="again"))
        cdap.drafts.save("default", DraftRequest(demo, "draft"))
        cdap.namespaces.create("other")
        cdap.secure_keys.put("default", "password", "hidden")
        files = sorted(corpus.rglob("*.json"))[:8] if corpus is not None else []
        for file in files:
            shutil.copyfile(file, Path.cwd() / file.name)


def play(home: Home, events: int, seed: int) -> None:
    """Let monkeys play on an instance: where one leaves the studio, the next opens it again."""
    with open_in_process(home) as cdap:  # a host of its own would be outside of the cage
        while events > 0:
            connection = HostConnection(home, lent=cdap)
            app = StudioApp(connection)
            try:
                events -= asyncio.run(Monkey(app, seed).play(events))
            finally:
                connection.close()
                app.calls.shut_down(5)
            seed += 1


@click.command()
@click.option("--events", default=10_000, show_default=True)
@click.option("--seed", default=0, help="0: another one each time.")
def main(events: int, seed: int) -> None:
    """Random keys and clicks; afterwards 'doctor' is asked about the database."""
    from localcdap.cli.main import run

    seed = seed or random.randrange(1, 1_000_000)
    click.echo(f"seed {seed}")
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(
            prefix="localcdap-monkey-",
            ignore_cleanup_errors=True,  # a watcher may still write
        ) as folder,
        cage(Path(folder)) as home,
    ):
        corpus = Path(__file__).resolve().parents[4] / "shared" / "corpus"
        furnish(home, corpus if corpus.is_dir() else None)
        play(home, events, seed)
        click.echo(f"{events} events in {time.monotonic() - started:.0f} s, nothing broke")
        sys.exit(run(["doctor", "--home", str(home.path)]))


if __name__ == "__main__":
    main()
