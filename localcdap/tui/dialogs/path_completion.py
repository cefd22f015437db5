"""Paths as they are typed: what they may be completed to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcdap.pipeline.paths.entries import PathEntry, list_folder
from localcdap.tui.fuzzy_match import rank_matches


@dataclass(frozen=True)
class PathCompletion:
    """:param typed: what stands in the line when this one is taken; that of a folder ends with '/'."""

    name: str
    typed: str
    is_folder: bool

    @property
    def path(self) -> Path:
        return expand_path(self.typed)


def list_completions(typed: str, suffixes: Sequence[str]) -> list[PathCompletion]:
    """Return the completions of the last part of a typed path, best first: folders, and files with a suffix.

    Hidden ones are offered when the part begins with a dot. A folder that cannot be read offers nothing.
    """
    head, last = split_path(typed)
    entries = list_folder(expand_path(head or "."), hidden=last.startswith("."))
    return rank_completions(typed, (e for e in entries if _is_offered(e, suffixes)))


def rank_completions(typed: str, entries: Iterable[PathEntry]) -> list[PathCompletion]:
    """Return the entries of the folder of a typed path that match its last part, best first."""
    head, last = split_path(typed)
    names = ((f"{each.name}/" if each.is_folder else each.name, each) for each in entries)
    completions = [
        (name, PathCompletion(name, head + name, each.is_folder)) for name, each in names
    ]
    return [each for each, _ in rank_matches(last, completions)]


def split_path(typed: str) -> tuple[str, str]:
    """Return a typed path up to its last slash, and what follows it.

    >>> split_path("a/b/c"), split_path("c")
    (('a/b/', 'c'), ('', 'c'))
    """
    head, slash, last = typed.rpartition("/")
    return head + slash, last


def _is_offered(entry: PathEntry, suffixes: Sequence[str]) -> bool:
    return entry.is_folder or not suffixes or entry.name.lower().endswith(tuple(suffixes))


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


def is_file(path: Path) -> bool:
    """Whether there is a file, as far as the user may see that; a path of a few hundred letters is none."""
    with contextlib.suppress(OSError):
        return path.is_file()
    return False


def is_taken(path: Path) -> bool:
    """Whether there is a file or a folder, as far as the user may see that."""
    with contextlib.suppress(OSError):
        return path.exists()
    return False
