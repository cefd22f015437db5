"""The state that the studio keeps between sessions: the theme, recent files, data and SQL."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

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
