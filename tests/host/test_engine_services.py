"""The host serves what a run process calls: the methods are called by name, over RPC."""

from __future__ import annotations

import inspect

import pytest

from localcdap.datasets.service import TableService
from localcdap.datasets.statements import StatementService
from localcdap.engine.messages import host
from localcdap.namespaces.connections import ConnectionService
from localcdap.namespaces.oauth import OAuthService
from localcdap.namespaces.secure_keys import SecureKeyService
from localcdap.runs.service import RunService


@pytest.mark.parametrize(
    ("interface", "service"),
    [
        (host.RunMessages, RunService),
        (host.TableExports, TableService),
        (host.TableStatements, StatementService),
        (host.SecureKeys, SecureKeyService),
        (host.OAuthTokens, OAuthService),
        (host.ConnectionProperties, ConnectionService),
    ],
)
def test_services_have_the_methods_that_run_processes_call(interface, service):
    for name, method in inspect.getmembers(interface, inspect.isfunction):
        served = inspect.signature(getattr(service, name))
        assert list(served.parameters) == list(inspect.signature(method).parameters), name
