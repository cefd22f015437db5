"""What connectors list, as people read it."""

from __future__ import annotations

from collections.abc import Iterable

from localcdap.api.connector import BrowseProperty
from localcdap.text import format_size, format_time


def format_property(found: BrowseProperty | None) -> str:
    """Return the value of a property of an entity; "" for one that it does not have."""
    if found is None:
        return ""
    match found.type:
        case "SIZE_BYTES":
            return format_size(int(found.value))
        case "TIMESTAMP_MILLIS":
            return format_time(int(found.value))
        case "NUMBER":
            return f"{int(found.value):,}"
    return found.value


def find_connection(typed: str, names: Iterable[str]) -> str | None:
    """Return the connection that a path begins with, as in ``files:/2026``: the one of the longest name.

    :param names: of all connections.
    """
    return max((name for name in names if typed.startswith(f"{name}:")), key=len, default=None)
