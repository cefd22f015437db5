"""A client of the ASGI application, which asserts what holds for every answer of the REST API."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from starlette.testclient import TestClient

from localcdap.server.rest.app import RestApp

PORT = 11015
NS = "/v3/namespaces/default"
STUDIO = "/v3/namespaces/system/apps/pipeline/services/studio/methods/v1/contexts/default"
WORKFLOW = "workflows/DataPipelineWorkflow"


class RestClient:
    """Sends requests as the clients of the original do."""

    def __init__(self, app: RestApp, **headers: str) -> None:
        self._client = TestClient(
            app, base_url=f"http://127.0.0.1:{PORT}", raise_server_exceptions=False, headers=headers
        )

    def __enter__(self) -> RestClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def send(self, method: str, path: str, **given: Any) -> Any:
        """Return the response of any request."""
        response = self._client.request(method, path, **given)
        assert response.status_code not in (201, 202, 204)
        return response

    def ok(self, method: str, path: str, body: Any = None, **given: Any) -> Any:
        """Return the value of an answer with the code 200: of JSON, else the text."""
        if body is not None:
            given["json"] = body
        response = self.send(method, path, **given)
        assert response.status_code == 200, (response.status_code, response.text)
        is_json = response.headers["content-type"] == "application/json" and response.content
        return response.json() if is_json else response.text

    def refused(self, method: str, path: str, body: Any = None, **given: Any) -> tuple[int, str]:
        """Return the code and the text of an error, which is plain."""
        if body is not None:
            given["json"] = body
        response = self.send(method, path, **given)
        assert response.status_code >= 400
        assert response.headers["content-type"].startswith("text/plain")
        return response.status_code, response.text
