"""What the studio has of the machine: clipboard, editor, garbage collection, state between sessions.

The clipboard of the terminal is reached by the OSC 52 sequence, which works over SSH and in tmux. A
text is edited in the editor of the user, which gets the terminal meanwhile. Garbage is collected while
the user is idle, so that it does not delay keys. The state between sessions are the theme, recent
files, data and SQL.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.decoders import decode_json
from localcdap.files.atomic import write_internal_file

_MAX_FILES: Final = 20
_MAX_RECIPES: Final = 50
_MAX_OPENED: Final = 100
_MAX_VERSIONS: Final = 30


class RecipeVersion(msgspec.Struct):
    """A recipe as it was once.

    :param time: in seconds since 1970.
    :param lines: its steps, also those that are switched off.
    """

    name: str
    time: float
    lines: list[str]


class OpenedData(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file, a table or data of a connection that were opened in the prep area."""

    namespace: str
    path: str = ""
    table: str = ""
    connection: str = ""
    place: str = ""
    """The path in the connection."""


class UserState(msgspec.Struct):
    """:param files: recent pipeline files, the newest first."""

    theme: str | None = None
    files: list[str] = []
    sql: list[str] = []
    """Recent statements, the newest first."""
    recipes: dict[str, list[str]] = {}
    """The recipes that were last written for data, by namespace and data; the newest last."""

    versions: dict[str, list[RecipeVersion]] = {}
    """The versions of recipes, by namespace and data; the newest last."""

    opened: list[OpenedData] = []
    """What was opened in the prep area, the newest first."""

    def remember_file(self, path: Path) -> None:
        """Put a file first among the recent files."""
        name = str(path.absolute())
        self.files = [name, *(each for each in self.files if each != name)][:_MAX_FILES]

    def remember_opened(self, data: OpenedData) -> None:
        """Put data first among those that were opened in the prep area."""
        self.opened = [data, *(each for each in self.opened if each != data)][:_MAX_OPENED]

    def list_opened(self, namespace: str) -> list[OpenedData]:
        """Return what was opened in the prep area in a namespace, the newest first."""
        return [each for each in self.opened if each.namespace == namespace]

    def find_recipe(self, namespace: str, data: str) -> list[str]:
        """Return the lines of the recipe that was last written for data, such as a path."""
        return self.recipes.get(f"{namespace}:{data}", [])

    def remember_recipe(self, namespace: str, data: str, directives: Sequence[str]) -> None:
        """Keep the lines of the recipe that was written for data."""
        key = f"{namespace}:{data}"
        self.recipes.pop(key, None)
        if directives:
            self.recipes[key] = list(directives)
        while len(self.recipes) > _MAX_RECIPES:
            del self.recipes[next(iter(self.recipes))]

    def list_prepared(self, namespace: str) -> list[str]:
        """Return the files for which recipes were written, the newest first."""
        start = f"{namespace}:/"
        found = [key[len(namespace) + 1 :] for key in self.recipes if key.startswith(start)]
        return found[::-1]

    def find_versions(self, namespace: str, data: str) -> list[RecipeVersion]:
        """Return the versions of the recipe for data, the newest last."""
        return self.versions.get(f"{namespace}:{data}", [])

    def keep_version(self, namespace: str, data: str, version: RecipeVersion) -> bool:
        """Keep a version; return False for one without steps, and when the newest one has the same steps."""
        key = f"{namespace}:{data}"
        kept = self.versions.pop(key, [])
        is_new = bool(version.lines) and (not kept or kept[-1].lines != version.lines)
        if is_new:
            kept = [*kept, version][-_MAX_VERSIONS:]
        if kept:
            self.versions[key] = kept
        while len(self.versions) > _MAX_RECIPES:
            del self.versions[next(iter(self.versions))]
        return is_new


def get_state_file() -> Path:
    return platformdirs.user_state_path("localcdap") / "studio.json"


def read_user_state() -> UserState:
    """Return the saved state; an empty one when it cannot be read."""
    try:
        return decode_json(get_state_file().read_bytes(), type=UserState)
    except (OSError, msgspec.DecodeError):
        return UserState()


def write_user_state(memory: UserState) -> None:
    """Save the state. Errors are ignored: losing the state is better than an error message."""
    file = get_state_file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        data = msgspec.json.format(msgspec.json.encode(memory))
        write_internal_file(file, data, is_synced=False)


MAX_BYTES: Final = 1_000_000
"""The longest text that is copied. Many terminals accept less, and none reports it."""


def build_osc52(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the control sequence that puts a text into the clipboard of the terminal.

    tmux gets it twice: for itself (``set-clipboard on``), and passed through to the outer terminal
    (``allow-passthrough on``); GNU screen only passed through.
    """
    coded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    plain = f"\x1b]52;c;{coded}\x07"
    if environment.get("TMUX"):
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("TERM", "").startswith("screen"):
        return f"\x1bP{plain}\x1b\\"
    return plain


def find_editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command of the user's editor.

    :raises NotFoundError: when $VISUAL and $EDITOR are empty and no usual editor is installed.
    """
    for name in ("VISUAL", "EDITOR"):
        if environment.get(name, "").strip():
            return shlex.split(environment[name])
    for usual in ("sensible-editor", "nano", "vim", "vi"):
        if shutil.which(usual):
            return [usual]
    raise NotFoundError(
        "There is no editor here.", "Name one in $EDITOR and open the studio again."
    )


def edit_text(text: str, suffix: str = ".txt") -> str | None:
    """Return the edited text, without a line end that the editor added; None when unchanged.

    The editor has the terminal until it exits.

    :raises BadRequestError: when the editor cannot be run or fails.
    """
    with tempfile.TemporaryDirectory(prefix="localcdap-edit-") as folder:
        file = Path(folder) / f"text{suffix}"
        file.write_text(text, encoding="utf-8")
        edit_file(file)
        edited = file.read_text(encoding="utf-8", errors="replace")
    if edited.endswith("\n") and not text.endswith("\n"):
        edited = edited[:-1]
    return None if edited == text else edited


def edit_file(file: Path) -> None:
    """Open a file in the editor and wait until it exits.

    :raises BadRequestError: when the editor cannot be run or fails.
    """
    command = [*find_editor_command(), str(file)]
    try:
        done = subprocess.run(command, check=False)
    except OSError as error:
        raise BadRequestError(
            f"The editor '{command[0]}' cannot be run: {error.strerror}.",
            "Name another one in $EDITOR.",
        ) from error
    if done.returncode:
        raise BadRequestError(f"The editor '{command[0]}' left with code {done.returncode}.")


CHECK_S: Final = 5.0
"""Seconds between checks whether the app is idle."""


def configure() -> None:
    """Exclude all imported objects from collections, and make automatic full collections rare."""
    gc.freeze()
    gc.set_threshold(5_000, 10, 100)


def collect_and_freeze() -> None:
    """Collect now, and exclude all remaining objects from later collections until the next call.

    A full collection over an open pipeline takes 50 ms or more, and would run every few dozen keys.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class IdleGarbageCollector:
    """Collects when the app was active and is idle now."""

    def __init__(self) -> None:
        self._collections = 0

    def collect_if_idle(self) -> None:
        """Collect if nothing was allocated since the last call; call it every :data:`CHECK_S`."""
        collections = gc.get_count()[2]
        if collections and collections == self._collections:
            collect_and_freeze()
            collections = 0
        self._collections = collections
