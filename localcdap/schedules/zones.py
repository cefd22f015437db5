"""The time zone of this machine, by its name: only a name says when daylight saving begins."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Final, NamedTuple

from localcdap.java.dates.zones import parse_zone

_LINK: Final = Path("/etc/localtime")
_FILE: Final = Path("/etc/timezone")
_FOLDER: Final = "zoneinfo/"


class NamedZone(NamedTuple):
    """A time zone with its name."""

    name: str
    zone: datetime.tzinfo


def find_zone(name: str | None) -> NamedZone:
    """Return a time zone; without a name that of this machine.

    :raises ValueError: when there is none of this name.
    """
    return _find_own_zone() if name is None else NamedZone(name, parse_zone(name))


def _find_own_zone() -> NamedZone:
    for name in (os.environ.get("TZ", "").removeprefix(":"), _read_link(), _read_file()):
        try:
            if name:
                return NamedZone(name, parse_zone(name))
        except ValueError:  # such as EST5EDT,M3.2.0
            continue
    now = datetime.datetime.now().astimezone()
    return NamedZone(now.strftime("UTC%z"), now.tzinfo or datetime.UTC)


def _read_link() -> str:
    try:
        return str(_LINK.resolve(strict=True)).partition(_FOLDER)[2]
    except OSError:
        return ""


def _read_file() -> str:
    try:
        return _FILE.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
