"""A front end learns of artifacts, no matter which process has the instance open."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from localcdap.api.app.events import ArtifactsChanged
from localcdap.home import Home
from localcdap.host import Cdap, open_in_process
from tests.artifacts.authoring import source, write

_HOST = """
import sys
from pathlib import Path
from localcdap.artifacts.directories.watcher import FolderWatcher
from localcdap.home import Home
from localcdap.host import open_in_process, services

made = []

class Eager(FolderWatcher):
    def __init__(self, *arguments):
        super().__init__(*arguments, delay_s=0)
        made.append(self)

services.FolderWatcher = Eager
with open_in_process(Home(Path(sys.argv[1]))) as cdap:
    assert made[0].wait_until_watching(60)
    print("host" if cdap.is_host else "client", flush=True)
    sys.stdin.read()
"""
SOON_S = 60.0


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def client(home):
    """A client of a host in another process, which watches the plugin folder already."""
    (home.path / "plugins").mkdir(parents=True)
    with subprocess.Popen(
        [sys.executable, "-c", _HOST, str(home.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as host:
        assert host.stdout.readline() == "host\n"
        with open_in_process(home) as cdap:
            assert not cdap.is_host
            yield cdap
        host.stdin.close()


class Events:
    """The events of artifacts from now on, as a client fetches them."""

    def __init__(self, cdap: Cdap) -> None:
        self._cdap = cdap
        self._after = cdap.messaging.get_newest_id()

    def next(self) -> list[tuple[str, str, str, str, str]]:
        messages = self._cdap.messaging.fetch(
            "system", ArtifactsChanged.topic, self._after, 1, SOON_S
        )
        assert messages, "no event came"
        self._after = messages[-1].id
        return [
            (c["change"], c["name"], c["version"], c["scope"], c["namespace"])
            for c in messages[0].payload["changes"]
        ]


def test_a_client_hears_of_every_change_and_sees_it(home, client):
    events = Events(client)
    hasher = ("hasher", "1.0.0", "USER", "default")
    file = home.path / "plugins" / "hasher-1.0.0.py"
    for change, text in (
        ("added", source("Shouter", description="One.")),
        ("updated", source("Shouter", description="Two.")),
        ("failed", "def f(:"),
        ("removed", None),
    ):
        write(file, text) if text is not None else file.unlink()
        assert events.next() == [(change, *hasher)]
        seen = [
            p.description for p in client.artifacts.list_plugins("default") if p.name == "Shouter"
        ]
        assert seen == {"added": ["One."], "removed": []}.get(change, ["Two."])


@pytest.mark.slow
def test_what_changed_while_the_instance_was_closed_is_reported_by_its_next_host(home):
    with open_in_process(home):
        pass
    write(home.path / "plugins" / "hasher-1.0.0.py", source("Shouter"))
    with open_in_process(home) as cdap:
        assert "Shouter" in [p.name for p in cdap.artifacts.list_plugins("default")]
        after, changes = 0, []
        for message in cdap.messaging.fetch("system", "artifacts", after):
            changes += [(c["change"], c["name"]) for c in message.payload["changes"]]
    assert changes[-1] == ("added", "hasher")
    assert ("added", "core-plugins") in changes


@pytest.mark.slow
def test_a_command_is_done_before_the_watcher_begins(home):
    program = (
        "import sys; from pathlib import Path; from localcdap.home import Home\n"
        "from localcdap.artifacts.directories.watcher import FolderWatcher\n"
        "from localcdap.host import open_in_process\n"
        "FolderWatcher.__init__.__kwdefaults__['delay_s'] = 600  # on a slow machine it is not done in two\n"
        "with open_in_process(Home(Path(sys.argv[1]))) as cdap: cdap.artifacts.list_plugins('default')\n"
        "print([m for m in sys.modules if m.startswith('watchdog')])"
    )
    run = [sys.executable, "-c", program, str(home.path)]
    done = subprocess.run(run, check=True, capture_output=True, text=True)

    assert done.stdout == "[]\n"


def test_a_folder_of_anything_does_not_keep_an_instance_from_opening(home):
    folder = home.path / "plugins"
    folder.mkdir(parents=True)
    shutil.copy(sys.executable, folder / "binary-1.0.0.py")
    (folder / "loop-1.0.0.py").symlink_to("loop-1.0.0.py")
    Path(folder, "notes.txt").write_text("no artifact")
    write(folder / "good-1.0.0.py", source("Good"))

    with open_in_process(home) as cdap:
        assert "Good" in [p.name for p in cdap.artifacts.list_plugins("default")]
        broken = cdap.artifacts.list_artifacts("default", errors=True)

    assert [a.name for a in broken] == ["binary", "loop-1.0.0"]
