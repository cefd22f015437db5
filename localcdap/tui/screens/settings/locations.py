"""Where paths from elsewhere lie on this machine: asked for, and kept under ``[locations]``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

from localcdap.home import Home
from localcdap.tui.screens.settings import file as toml
from localcdap.tui.screens.settings.rows import read_text
from localcdap.tui.studio import Choice, Studio

_ELSEWHERE: Final = re.compile(
    r"(?!file:|https?:|ftps?:)[A-Za-z][A-Za-z0-9+.-]*://[^/\s*?\[{$]+(?=/|$)"
)


_PLAIN: Final = re.compile(r"[^*?\[{$\x00-\x1f]+")
_LONGEST: Final = 1000
"""Characters of a path; what is longer is something else."""


def find_prefix(path: str) -> str | None:
    """What of a path says where it lies: ``gs://sales`` of ``gs://sales/2026/*.csv``.

    Of a path that begins with a folder which this machine lacks it is that folder. None for other paths of
    this machine, addresses of the web, and where a macro decides.
    """
    path = path.strip()
    found = _ELSEWHERE.match(path)
    return found[0] if found is not None else _lacking(path)


def _lacking(path: str) -> str | None:
    """The first folder of an absolute path that is not there."""
    folder = str(PurePosixPath(path).parent)
    if not path.startswith("/") or len(path) > _LONGEST or not _PLAIN.fullmatch(folder):
        return None
    folders = [*reversed(PurePosixPath(path).parents)]
    return next((str(each) for each in folders if not os.path.lexists(each)), None)


async def ask_location_and_reopen(studio: Studio, prefix: str | None) -> None:
    """Ask where paths lie, and have that in force at once; to be awaited in a worker.

    :param prefix: of the paths; None when it is asked for, too.
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
    chosen = await studio.choose([*choices, Choice("another …", "")], title="Where is")
    if chosen is not None:
        await ask_location_and_reopen(studio, chosen or None)


async def ask_location(studio: Studio, prefix: str | None = None) -> bool:
    """Ask where paths lie, and keep the answer; to be awaited in a worker. False when nothing was kept.

    :param prefix: of the paths; None when it is asked for, too.
    """
    if prefix is None:
        prefix = await studio.ask(
            "Which paths lie elsewhere on this machine?",
            detail="The prefix of paths in pipelines, such as gs://sales",
            verb="Next",
            check=lambda text: None if text.strip() else "A prefix is not empty.",
        )
        if prefix is None:
            return False
    home = studio.connection.home
    folder = await studio.ask(
        f"Where is {prefix} on this machine?",
        detail=f"A folder; a relative one is relative to {home.path}",
        verb="Keep",
        check=lambda text: _refused(home, text),
    )
    return folder is not None and _kept(studio, prefix.strip(), folder.strip())


def _refused(home: Home, text: str) -> str | None:
    if not text.strip():
        return "A folder has a name."
    place = home.resolve(text.strip())
    return f"{place} is a file; name its folder." if place.is_file() else None


def _kept(studio: Studio, prefix: str, folder: str) -> bool:
    home = studio.connection.home
    file = home.settings_file
    try:
        before = read_text(file)
        problem = toml.find_problem(before, file)
        if problem is None:
            toml.write(file, toml.set_value(before, ("locations", prefix), folder))
    except (OSError, UnicodeDecodeError) as error:
        problem = str(error)
    if problem is not None:
        studio.show_notice("The settings cannot be changed.", problem, "error")
        return False
    place = home.resolve(folder)
    when = "" if studio.is_host else "The host of this instance reads it when it starts."
    if place.exists():
        studio.show_notice(f"{prefix} is {place}.", when)
    else:
        studio.show_notice(f"{prefix} is {place}, where there is nothing yet.", when, "warning")
    return True
