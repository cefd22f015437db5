"""Choosing a file by typing some of its letters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from localcdap.tui.dialogs import path_completion as paths
from localcdap.tui.dialogs.path_completion import PathCompletion
from localcdap.tui.dialogs.path_dialog import PathDialog


class FilePicker(PathDialog[Path]):
    """Lets its user choose a file.

    :param suffixes: of the files that are offered, in lower case; empty for all.
    :param for_saving: a file that is not there yet may be chosen too.
    :param recent: offered while nothing is typed.
    """

    def __init__(
        self,
        title: str,
        *,
        typed: str = "",
        suffixes: Sequence[str] = (".json",),
        for_saving: bool = False,
        recent: Sequence[str] = (),
    ) -> None:
        super().__init__(title, typed)
        self._suffixes = suffixes
        self._for_saving = for_saving
        self._recent = recent

    async def find_completions(self, typed: str) -> list[PathCompletion]:
        found = await asyncio.to_thread(paths.list_completions, typed, self._suffixes)
        if typed:
            return found
        recent = [each for each in self._recent if paths.is_file(Path(each))]
        return [PathCompletion(each, each, False) for each in recent] + found

    def take(self, typed: str, entry: PathCompletion | None) -> None:
        """Choose the typed path if it is a file or may be a new one; else the highlighted entry."""
        path = paths.expand_path(typed)
        may_be_new = self._for_saving and not typed.endswith("/") and not paths.is_taken(path)
        if typed and (may_be_new or paths.is_file(path)):
            self.dismiss(path)
        elif entry is not None and entry.is_folder:
            self.write(entry.typed)
        elif entry is not None:
            self.dismiss(entry.path)
        else:
            self.show_help(f"There is no file at '{typed}'.")

    def mark_listed(self, typed: str) -> None:
        if self._for_saving:
            if typed:
                self._list.highlighted = None
            self.show_help("")
        else:
            super().mark_listed(typed)
