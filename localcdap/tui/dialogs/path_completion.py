"""Paths as they are typed: what they may be completed to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localcdap.tui.fuzzy_match import rank_matches

MAX_ENTRIES: Final = 5000
"""Entries of a folder that are looked at; of a larger one the rest is not offered."""


@dataclass(frozen=True)
class PathEntry:
    """:param typed: what stands in the line when this one is taken; that of a folder ends with '/'."""

    name: str
    typed: str
    path: Path
    is_folder: bool


def list_entries(typed: str, suffixes: Sequence[str]) -> list[PathEntry]:
    """Return the completions of the last part of a typed path, best first: folders, and files with a suffix.

    Hidden ones are offered when the part begins with a dot. A folder that cannot be read offers nothing.
    """
    head, _, last = typed.rpartition("/")
    prefix = f"{head}/" if "/" in typed else ""
    folder = expand_path(prefix or ".")
    found: list[PathEntry] = []
    try:
        with os.scandir(folder) as scanned:
            for count, each in enumerate(scanned):
                if count >= MAX_ENTRIES:
                    break
                if each.name.startswith(".") and not last.startswith("."):
                    continue
                is_folder = each.is_dir()
                if is_folder or not suffixes or each.name.lower().endswith(tuple(suffixes)):
                    end = "/" if is_folder else ""
                    found.append(
                        PathEntry(
                            each.name + end, prefix + each.name + end, folder / each.name, is_folder
                        )
                    )
    except OSError:
        return []
    found.sort(key=lambda entry: (not entry.is_folder, entry.name.lower()))
    return [entry for entry, _ in rank_matches(last, [(entry.name, entry) for entry in found])]


def expand_path(typed: str) -> Path:
    """Return the absolute path: '~' is the user's folder, relative paths are relative to the working
    folder.
    """
    try:
        return Path(typed).expanduser()
    except RuntimeError:  # a '~name' of nobody
        return Path(typed)


def strip_last_part(typed: str) -> str:
    """Return a typed path without its last part."""
    return typed.rstrip("/").rpartition("/")[0] + "/" if "/" in typed.rstrip("/") else ""
