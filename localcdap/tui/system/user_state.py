"""What the studio remembers of its user from one time to the next: the theme, the files opened last."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

_MOST_FILES: Final = 20


class UserState(msgspec.Struct):
    """:param files: pipeline files opened, the last one first."""

    theme: str | None = None
    files: list[str] = []
    sql: list[str] = []
    """Statements that were run, the last one first."""

    def remember_file(self, path: Path) -> None:
        """Remember a file that was opened."""
        name = str(path.absolute())
        self.files = [name, *(each for each in self.files if each != name)][:_MOST_FILES]


def get_state_file() -> Path:
    return platformdirs.user_state_path("localcdap") / "studio.json"


def read_user_state() -> UserState:
    """What was kept; nothing when it cannot be read."""
    try:
        return msgspec.json.decode(get_state_file().read_bytes(), type=UserState)
    except (OSError, msgspec.DecodeError):
        return UserState()


def write_user_state(memory: UserState) -> None:
    """Keep it, when that can be done; a studio that forgets is better than one that complains."""
    file = get_state_file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        spare = file.with_suffix(f".{os.getpid()}")
        spare.write_bytes(msgspec.json.format(msgspec.json.encode(memory)))
        spare.replace(file)
