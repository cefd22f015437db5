"""What can be wrong with paths into JSON."""

from __future__ import annotations


class JsonPathError(ValueError):
    """A text is no path."""


class NothingFoundError(ValueError):
    """A path that selects one thing at most selects none."""


def no_path(path: str, why: str) -> JsonPathError:
    return JsonPathError(f"'{path}' is no JSON path: {why}")
