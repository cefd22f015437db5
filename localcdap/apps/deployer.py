"""Deploying the applications of an artifact: checking their namespace and creating their tables."""

from __future__ import annotations

from collections.abc import Sequence

from localcdap.api.app.application import ApplicationClass
from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.app.transactions import StructuredTableAdmin
from localcdap.api.errors import ConflictError, LocalcdapError


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
