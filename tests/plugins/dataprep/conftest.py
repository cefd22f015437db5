"""One instance with the application, which is called as its clients call it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from localcdap.apps.model import AppAnswer, AppRequest
from localcdap.testing.instance import TemporaryInstance

_numbers = itertools.count()


class DataPrepClient:
    """Calls the service of the application in one namespace."""

    def __init__(self, instance: TemporaryInstance, namespace: str) -> None:
        self.instance = instance
        self.namespace = namespace

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        **query: str,
    ) -> AppAnswer:
        whole = f"/v2/contexts/{self.namespace}/{path}"
        request = AppRequest(method, whole, dict(query), body, headers=headers or {})
        return self.instance.cdap.apps.call("dataprep", request)

    def upload(self, text: str, name: str = "people.txt") -> str:
        headers = {"file": name, "delimiter": r"\n"}
        answer = self.call("POST", "workspaces/upload", text.encode(), headers)
        assert answer.status == 200, answer.body
        id: str = answer.body
        return id

    def execute(self, workspace: str, *directives: str, **more: Any) -> AppAnswer:
        body = {"directives": list(directives), **more}
        return self.call("POST", f"workspaces/{workspace}/execute", body)


@pytest.fixture(scope="package")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporaryInstance]:
    with TemporaryInstance(tmp_path_factory.mktemp("dataprep")) as made:
        yield made


@pytest.fixture
def client(instance: TemporaryInstance) -> DataPrepClient:
    """In a namespace of its own."""
    name = f"n{next(_numbers)}"
    instance.cdap.namespaces.create(name)
    return DataPrepClient(instance, name)
