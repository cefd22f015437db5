"""A plugin folder of 1,000 artifacts: indexed cold and warm, one file picked up, plugins looked up."""

from __future__ import annotations

import contextlib
import shutil
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

from benchmarks.measure import Command, Row, alternate, remove, within
from localcdap.rpc.host_record import read_host_record

ARTIFACTS: Final = 1_000
PLUGINS_EACH: Final = 5
LOOK_UPS: Final = 10_000
_REFERENCE: Final = Path(__file__).parent / "references" / "imports.py"
_HEAD: Final = "from localcdap.api import PluginConfig, Transform, capability, field, plugin\n"
_PLUGIN: Final = """

@plugin(type="transform", name="Generated{number}x{place}", description="{text}")
@capability("mode_native", "spark_{spark}")
class Generated{place}(Transform):
    class Config(PluginConfig):
        fields: list[str] = field("Fields to change.", macro=True)
        mode: str = field("How.", default="fast", choices=["fast", "exact"])
        limit: int = field("How many.", default=10)

    def transform(self, record, emit):
        emit(record)
"""
_SOON_S: Final = 10.0


def artifacts(folder: Path, rounds: int) -> Iterator[Row]:
    """Whole commands that index, and what an open front end waits for."""
    home = folder / "artifacts-home"
    shutil.rmtree(home, ignore_errors=True)
    plugins = _generated(home / "plugins")
    argv = [sys.executable, "-m", "localcdap.cli", "plugins", "--json", "--home", str(home)]
    database = [home / f"localcdap.duckdb{end}" for end in ("", ".wal", ".commits")]
    remove_index = remove(*database, home / "cache")

    def forget() -> None:
        _end_host(home)
        remove_index()

    cold = Command("localcdap plugins", argv, {}, forget)
    imports = Command("imports", [sys.executable, str(_REFERENCE), str(plugins)], {}, remove())
    cold_s, imports_s = alternate([cold, imports], rounds, warm_ups=0)
    yield within("1,000 artifacts, cold", cold_s, 10, "importing them", imports_s)
    warm_s, _ = alternate([Command("localcdap plugins", argv, {}, remove()), imports], rounds)
    yield within("1,000 artifacts, warm", warm_s, 1, "importing them", imports_s)
    _end_host(home)
    pick_up_s, look_ups_s = _open_instance(home, max(rounds, 3))
    yield within("pick up one dropped file", pick_up_s, 0.3)
    yield within("10,000 look-ups of a plugin", look_ups_s, 1)


def _end_host(home: Path) -> None:
    """End the background host that the last command has left, and wait until it has gone."""
    record = read_host_record(home)
    if record is None:
        return
    with contextlib.suppress(psutil.NoSuchProcess):
        host = psutil.Process(record.pid)
        host.terminate()
        host.wait(60)


def _generated(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for number in range(ARTIFACTS):
        text = _HEAD + "".join(
            _PLUGIN.format(
                number=number, place=place, spark=1 + place % 4, text=f"Plugin {number} {place}."
            )
            for place in range(PLUGINS_EACH)
        )
        (folder / f"generated-{number:04d}-1.0.{number % 7}.py").write_text(text, encoding="utf-8")
    return folder


def _open_instance(home: Path, rounds: int) -> tuple[float, float]:
    """Median seconds from the last write of a dropped file until a client has heard of it and sees its
    plugins; and seconds of the look-ups.
    """
    from localcdap.home import Home
    from localcdap.host import open_in_process

    times = []
    with open_in_process(Home(home)) as cdap, contextlib.ExitStack() as undo:
        time.sleep(3)  # the watcher begins after two
        for number in range(rounds):
            time.sleep(0.5)
            after = cdap.messaging.get_newest_id()
            file = home / "plugins" / f"dropped-1.0.{number}.py"
            undo.callback(file.unlink)
            text = _HEAD + _PLUGIN.format(number="Drop", place=number, spark=4, text="Dropped.")
            file.write_text(text, encoding="utf-8")
            start = time.perf_counter()
            if not cdap.messaging.fetch("system", "artifacts", after, 1, _SOON_S):
                raise RuntimeError("nobody heard of the dropped file")
            cdap.artifacts.get_plugin("default", "transform", f"GeneratedDropx{number}")
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        for number in range(LOOK_UPS):
            name = f"Generated{number % ARTIFACTS}x{number % PLUGINS_EACH}"
            if cdap.artifacts.find_plugin("default", "transform", name).plugin is None:
                raise RuntimeError(f"{name} was not found")
        return statistics.median(times), time.perf_counter() - start
