"""Sessions on a Spark Connect server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import EngineError
from localcdap.engine.server import Endpoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOKEN: Final = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable
_CONNECT_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"
"""By this pyspark's functions know that they are meant for Spark Connect."""
_NEEDED: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
}
"""What a cluster's sessions may have otherwise; the local server is started with it."""


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


def connect(endpoint: Endpoint) -> SparkSession:
    """A new session on a server; stop it when it is not needed any more.

    :raises EngineError: when the server cannot be reached or refuses.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    os.environ[_CONNECT_MODE] = "1"
    if endpoint.token is not None:
        os.environ[_TOKEN] = endpoint.token
    try:
        spark = SparkSession.builder.remote(endpoint.url).create()
        spark.client.set_retry_policies([_patience(endpoint)])
        if endpoint.token is None:
            for key, value in _NEEDED.items():
                spark.conf.set(key, value)
        else:
            spark.conf.get("spark.sql.session.timeZone")
    except Exception as error:
        kind = type(error).__name__
        if isinstance(error, PySparkException) or kind.startswith(("_Inactive", "_MultiThreaded")):
            raise EngineError(
                f"The Spark server at {endpoint.url} cannot be used: {_first_line(error)}",
                "See 'localcdap engine'.",
            ) from error
        raise
    return spark


def _patience(endpoint: Endpoint) -> Any:
    """How long a call is tried again: minutes on a cluster, seconds on this machine, where a server
    that does not answer is gone."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    if endpoint.token is None:
        return DefaultPolicy()
    return DefaultPolicy(max_retries=5, max_backoff=1000, jitter=100)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), repr(error))
