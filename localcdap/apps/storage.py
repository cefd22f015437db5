"""What applications keep: their tables, created when they are deployed, and the folders of their files.

Each application has one folder for each generation of a namespace.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from localcdap.api.app.application import ApplicationClass
from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.app.transactions import StructuredTableAdmin
from localcdap.api.errors import ConflictError, LocalcdapError
from localcdap.namespaces.model import NamespaceResource
from localcdap.namespaces.service import NamespaceService


class AppDeployer:
    """Deploys applications; see :class:`localcdap.artifacts.directories.sync.Deployer`.

    :param admin: creates their tables.
    """

    def __init__(self, admin: StructuredTableAdmin) -> None:
        self._admin = admin

    def deploy(self, namespace: str, applications: Sequence[ApplicationClass]) -> None:
        """Create the tables of applications, or add the missing fields and indexes.

        :raises ConflictError: when the namespace is not ``system``, or an existing table is incompatible; the
            message names every problem.
        """
        if namespace != SYSTEM_NAMESPACE:
            names = ", ".join(f"'{each.name}'" for each in applications)
            raise ConflictError(
                f"A system application can only run in the namespace '{SYSTEM_NAMESPACE}', but {names} is in "
                f"'{namespace}'.",
                f"Move the artifact into the sub-folder '{SYSTEM_NAMESPACE}' of the plugin directory.",
            )
        problems = []
        for application in applications:
            for service in application.services:
                for table in service.tables:
                    try:
                        self._admin.create_or_update(table)
                    except LocalcdapError as error:
                        problems.append(f"Application '{application.name}': {error.full_message}")
        if problems:
            raise ConflictError("\n".join(problems))


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
