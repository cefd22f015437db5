"""Connecting to servers that a run cannot use: each is reported within seconds, without secrets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent import futures

import grpc
import pytest
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from localcdap.api.errors import EngineError
from localcdap.engine.endpoint import Endpoint
from localcdap.engine.session import connect


class OldSpark(base_pb2_grpc.SparkConnectServiceServicer):
    """Speaks Spark Connect as far as the question for its version."""

    version = "3.5.1"

    def AnalyzePlan(self, request, context):
        answer = base_pb2.AnalyzePlanResponse.SparkVersion(version=self.version)
        return base_pb2.AnalyzePlanResponse(session_id=request.session_id, spark_version=answer)


class Guarded(base_pb2_grpc.SparkConnectServiceServicer):
    def AnalyzePlan(self, request, context):
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "Invalid authentication token")


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server of the kind that the test is parametrized with."""
    server = grpc.server(futures.ThreadPoolExecutor(2))
    base_pb2_grpc.add_SparkConnectServiceServicer_to_server(request.param(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(None)


def refusal(url: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        connect(Endpoint(url, None))
    assert "hidden" not in caught.value.full_message
    return caught.value


@pytest.mark.parametrize("served", [OldSpark], indirect=True)
def test_another_major_version(served):
    error = refusal(f"sc://localhost:{served}/;x=hidden")

    assert f"sc://localhost:{served} is Spark 3.5.1" in error.message
    assert error.corrective_action == "Use a cluster with Spark 4."


@pytest.mark.parametrize("served", [Guarded], indirect=True)
def test_a_refused_token(served):
    error = refusal(f"sc://localhost:{served}/;x=hidden")

    assert "Invalid authentication token" in error.message
    assert "token=…" in (error.corrective_action or "")


@pytest.mark.slow
@pytest.mark.parametrize("served", [OldSpark], indirect=True)
def test_a_token_for_a_server_that_does_not_encrypt(served):
    error = refusal(f"sc://127.0.0.1:{served}/;token=hidden")

    assert "this server does not encrypt" in (error.corrective_action or "")


@pytest.mark.slow
def test_nobody_listens():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    error = refusal(f"sc://127.0.0.1:{port}/;x=hidden")

    assert error.corrective_action == "Check its address, and that it runs."


@pytest.mark.slow
def test_somebody_else_listens_and_says_nothing():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)

        refusal(f"sc://127.0.0.1:{silent.getsockname()[1]}/;x=hidden")
