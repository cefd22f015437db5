"""Sessions on a Spark Connect server."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from localcdap.api.errors import EngineError
from localcdap.engine.cluster.address import public
from localcdap.engine.local.server import Endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"
"""By this pyspark's functions know that they are meant for Spark Connect."""
_CASE: Final = ("spark.sql.caseSensitive", "true")
"""A schema may have the fields ``a`` and ``A``."""
_NEEDED: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
}
"""What a cluster's sessions may have otherwise; the local server is started with it."""
_PATIENCE: Final = {"grpc.min_reconnect_backoff_ms": 2000, "grpc.max_reconnect_backoff_ms": 2000}
"""One attempt at a connection takes at most so long, where nothing answers at all."""
_FIXES: Final = {
    "UNAUTHENTICATED": "Put its token into the address: 'sc://host:port/;token=…'.",
    "UNAVAILABLE": "Check its address, and that it runs.",
}
_NO_TLS: Final = (
    "With a token the connection is encrypted unless the host is 'localhost'; this server does not encrypt: "
    "put a proxy with TLS before it, or tunnel to localhost."
)
_OTHERWISE: Final = "'localcdap doctor' checks the machine."


@contextlib.contextmanager
def session(endpoint: Endpoint) -> Iterator[SparkSession]:
    """A session of one's own on a server, for the time of a block.

    :raises EngineError: when the server cannot be reached or refuses.
    """
    spark = connect(endpoint)
    try:
        yield spark
    finally:
        with contextlib.suppress(Exception):  # the server may be gone; then so is the session
            spark.stop()


def connect(endpoint: Endpoint, session_id: str | None = None) -> SparkSession:
    """A session on a server; stop it when it is not needed any more.

    A server that does not answer is given up after some seconds. Later calls are tried again for minutes on
    a cluster, for seconds on this machine, where a server that does not answer is gone.

    :param session_id: a UUID; by this one can find a session that somebody else left behind.
    :raises EngineError: when the server cannot be reached or refuses.
    """
    from grpc import RpcError
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.client.retries import DefaultPolicy

    os.environ[_CONNECT_MODE] = "1"
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error itself says it
    spark: Any = None
    try:
        spark = _created(endpoint, session_id)
        # The local server was found a moment ago: when it does not answer, the machine has much to do.
        spark.client.set_retry_policies([_patience(5 if endpoint.token is None else 12)])
        if endpoint.token is None:
            _check_version(endpoint, spark.version)
        spark.conf.set(*_CASE)
        if endpoint.token is None:
            for key, value in _NEEDED.items():
                spark.conf.set(key, value)
            spark.client.set_retry_policies([DefaultPolicy()])
        else:
            spark.client.set_retry_policies([_patience(5)])
    except (PySparkException, RpcError, EngineError) as error:
        if spark is not None:  # it would be the session that pyspark takes by default
            spark.release_session_on_close = False
            spark.stop()
        if isinstance(error, EngineError):
            raise
        raise _refusal(endpoint, error) from error
    return cast("SparkSession", spark)


def _check_version(endpoint: Endpoint, found: str) -> None:
    """:raises EngineError: when a server is of another major version than this Spark's client."""
    from pyspark import __version__

    major = __version__.partition(".")[0]
    if found.partition(".")[0] != major:
        raise EngineError(
            f"The Spark server at {public(endpoint.url)} is Spark {found}; localcdap talks to Spark {major}.",
            f"Use a cluster with Spark {major}.",
        )


def _created(endpoint: Endpoint, session_id: str | None) -> SparkSession:
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    channel = DefaultChannelBuilder(endpoint.url, list(_PATIENCE.items()))
    if endpoint.token is not None:
        # Not through the environment, where it would be sent to other servers too.
        channel.set("token", endpoint.token)
    if session_id is not None:
        channel.set("session_id", session_id)
    return SparkSession.builder.channelBuilder(channel).create()


def _patience(retries: int) -> Any:
    """Retries that give a server about a second each."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    return DefaultPolicy(max_retries=retries, max_backoff=1000, jitter=100)


def _refusal(endpoint: Endpoint, error: Exception) -> EngineError:
    code = getattr(error, "getGrpcStatusCode", None)
    status: str | None = code().name if callable(code) else None
    details = re.search(r'details = "(.*)"', str(error))
    lines = (line.strip() for line in str(error).splitlines())
    reason = details[1] if details else next(filter(None, lines), repr(error))
    fix = _NO_TLS if "WRONG_VERSION_NUMBER" in reason else _FIXES.get(status or "", _OTHERWISE)
    return EngineError(
        f"The Spark server at {public(endpoint.url)} cannot be used: {reason.rstrip('.')}.", fix
    )
