"""Asks for the local folder of a path prefix such as ``gs://sales``, and saves it under ``[locations]``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.home import Home
from localcdap.tui.dialogs.path_dialog import is_file, is_taken
from localcdap.tui.screens.settings import file as toml
from localcdap.tui.screens.settings.rows import read_settings_text
from localcdap.tui.studio import Choice, Studio

_ELSEWHERE: Final = re.compile(
    r"(?!file:|https?:|ftps?:)[A-Za-z][A-Za-z0-9+.-]*://[^/\s*?\[{$]+(?=/|$)"
)
"""The scheme and the authority of a path in another file system, such as ``gs://sales``."""
_PLAIN: Final = re.compile(r"[^*?\[{$\x00-\x1f]+")
_LONGEST: Final = 1000
"""The most characters of a path; a longer text is not a path."""


def find_prefix(path: str) -> str | None:
    """Return the prefix of a path that can be mapped to a local folder.

    It is ``gs://sales`` for ``gs://sales/2026/*.csv``. For an absolute path in a missing folder it
    is the first missing folder. It is None for other local paths, for web addresses, and for prefixes with
    macros or wildcards.
    """
    path = path.strip()
    found = _ELSEWHERE.match(path)
    return found[0] if found is not None else _find_missing_folder(path)


def _find_missing_folder(path: str) -> str | None:
    """Return the first folder of an absolute path that does not exist."""
    folder = str(PurePosixPath(path).parent)
    if not path.startswith("/") or len(path) > _LONGEST or not _PLAIN.fullmatch(folder):
        return None
    folders = [*reversed(PurePosixPath(path).parents)]
    return next((str(each) for each in folders if not os.path.lexists(each)), None)


async def ask_location_and_reopen(studio: Studio, prefix: str | None) -> None:
    """Ask for the local folder of a prefix, and reopen the instance with it. Await it in a worker.

    :param prefix: the prefix; None to ask for it too.
    """
    if await ask_location(studio, prefix):
        studio.reopen()


async def choose_location(studio: Studio, values: Iterable[str]) -> None:
    """Let the user choose a prefix among those in some values, then ask for its location."""
    prefixes = dict.fromkeys(prefix for each in values if (prefix := find_prefix(each)))
    if not prefixes:
        await ask_location_and_reopen(studio, None)
        return
    choices = [Choice(prefix, prefix) for prefix in prefixes]
    chosen = await studio.choose(
        [*choices, Choice("another prefix …", "")], title="Set the local folder of"
    )
    if chosen is not None:
        await ask_location_and_reopen(studio, chosen or None)


async def ask_location(studio: Studio, prefix: str | None = None) -> bool:
    """Ask for the local folder of a prefix, and save it. Await it in a worker.

    :param prefix: the prefix; None to ask for it too.
    :return: whether a folder was saved.
    """
    if prefix is None:
        prefix = await studio.ask(
            "Which path prefix has a local folder?",
            detail="A prefix of paths in pipelines, such as gs://sales",
            verb="Next",
            check=lambda text: None if text.strip() else "Enter a prefix.",
        )
        if prefix is None:
            return False
    home = studio.connection.home
    folder = await studio.ask(
        f"Local folder of {prefix}",
        detail=f"A relative folder is relative to {home.path}",
        verb="Save",
        check=lambda text: _check_folder(home, text),
    )
    return folder is not None and _save_location(studio, prefix.strip(), folder.strip())


def _check_folder(home: Home, text: str) -> str | None:
    if not text.strip():
        return "Enter a folder."
    path = home.resolve(text.strip())
    return f"{path} is a file. Enter its folder." if is_file(path) else None


def _save_location(studio: Studio, prefix: str, folder: str) -> bool:
    home = studio.connection.home
    file = home.settings_file
    try:
        before = read_settings_text(file)
        problem = toml.find_problem(before, file)
        if problem is None:
            toml.write(file, toml.set_value(before, ("locations", prefix), folder))
    except (OSError, UnicodeDecodeError) as error:
        problem = str(error)
    except BadRequestError as error:
        problem = error.message
    if problem is not None:
        studio.show_notice("Could not change the settings.", problem, "error")
        return False
    path = home.resolve(folder)
    if is_taken(path):
        studio.show_notice(f"{prefix} is {path}.")
    else:
        studio.show_notice(f"{prefix} is {path}, which does not exist yet.", severity="warning")
    return True
