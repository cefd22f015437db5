"""Which methods of the host's services the processes of applications may call."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest

from localcdap.api.app.application import SystemApplication, application
from localcdap.api.errors import UnauthorizedError
from localcdap.apps.platform import _ALLOWED, AppServices
from localcdap.rpc.methods import list_method_names
from localcdap.security.access import AccessChecks
from localcdap.security.authorizer import ALLOW_ALL
from localcdap.testing import AppTester


@application(name="quiet", description="Has no service.")
class Quiet(SystemApplication):
    """Has no service."""


def test_every_allowed_method_is_one_of_its_service() -> None:
    services = typing.get_type_hints(AppServices)
    for name, methods in _ALLOWED.items():
        assert methods <= set(list_method_names(services[name])), name


def test_an_application_calls_allowed_methods_only(tmp_path: Path) -> None:
    with AppTester(Quiet, tmp_path) as app:
        services, checks = app.context._host, AccessChecks(ALLOW_ALL)
        described = services.perform(checks, app.namespaces, "describe", {"name": "default"})
        assert described.name == "default"
        app.namespaces.create("sales")
        with pytest.raises(UnauthorizedError, match=r"do not call NamespaceService\.delete"):
            services.perform(checks, app.namespaces, "delete", {"name": "sales"})
        assert app.namespaces.exists("sales")
        arguments = {"namespace": "default", "name": "db"}
        with pytest.raises(UnauthorizedError, match="get_properties"):
            services.perform(checks, app.connections, "get_properties", arguments)
