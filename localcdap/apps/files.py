"""The folders of files of applications: one for each application and each generation of a namespace."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService

_DELETED: Final = ".deleted-"
"""The beginning of the name of a folder that is being removed."""


class AppFiles:
    """Gives applications their folders. Threads may share it.

    :param folder: holds the folders of all applications; created with the first one.
    """

    def __init__(self, folder: Path, namespaces: NamespaceService) -> None:
        self._folder = folder
        self._namespaces = namespaces
        namespaces.register_resource(
            NamespaceResource("files of applications", remove_files=self._remove)
        )

    def open_folder(self, app: str, namespace: str) -> Path:
        """Return the folder of an application for a namespace; it is created when it does not exist.

        :raises NotFoundError: when there is no such namespace.
        """
        generation = self._namespaces.describe(namespace).generation
        folder = self._folder / f"app-{quote(app, safe='')}" / f"{namespace}-{generation}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _remove(self, namespace: str, generation: int) -> Sequence[str]:
        """Remove the folders of a deleted namespace, also while an application still writes into one."""
        for folder in self._folder.glob(f"app-*/{namespace}-{generation}"):
            with contextlib.suppress(FileNotFoundError):
                folder.rename(folder.with_name(_DELETED + folder.name))
        for folder in self._folder.glob(f"app-*/{_DELETED}*"):
            shutil.rmtree(folder, ignore_errors=True)
        return ()
