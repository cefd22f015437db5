"""Sessions on a Spark Connect server: one for each run, with the settings that localcdap relies on."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from localcdap.api.errors import EngineError
from localcdap.engine.endpoint import Endpoint, hide_parameters
from localcdap.engine.spark_internals import (
    create_session,
    discard_session,
    leave_plans_uncompressed,
    set_properties,
    set_retries,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"
"""Variable that makes the functions of pyspark build Spark Connect expressions."""
_CASE: Final = {"spark.sql.caseSensitive": "true"}
"""A schema may have the fields ``a`` and ``A``."""
NUMBER_PROPERTY: Final = "spark.sql.execution.pyspark.udf.tracebackDumpIntervalSeconds"
"""Gives a session Python workers of its own.

The local server shares workers among sessions whose workers have the same environment variables; this
property becomes one (``BasePythonRunner.compute``).
"""
_NUMBERS_FROM: Final = 100_000_000
"""The smallest value of that property, in seconds: no worker dumps a traceback so late."""
_NEEDED: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.readSideCharPadding": "false",
}
"""Settings that a cluster may set differently; the local server is started with them."""
_LOCAL_RETRIES: Final = 12
"""The local server was found a moment ago: when it does not answer, the machine is busy."""
_RETRIES: Final = 5
_ACTIONS: Final = {
    "UNAUTHENTICATED": "Put its token into the address: 'sc://host:port/;token=…'.",
    "UNAVAILABLE": "Check its address, and that it runs.",
}
_NO_TLS: Final = (
    "With a token the connection is encrypted unless the host is 'localhost'; this server does not encrypt: "
    "put a proxy with TLS in front of it, or tunnel to localhost."
)
_OTHER_ACTION: Final = "'localcdap doctor' checks the machine."


def load_client() -> None:
    """Import the client of Spark, before several threads need it.

    Its packages import each other in circles; of threads that import them at the same time, one may find a
    part that is not complete, and fail.
    """
    import pyspark.sql
    import pyspark.sql.connect.session  # noqa: F401


@contextlib.contextmanager
def open_session(endpoint: Endpoint) -> Iterator[SparkSession]:
    """Open a session on a server for the duration of a block.

    :raises EngineError: when the server cannot be reached or refuses.
    """
    spark = connect(endpoint)
    try:
        yield spark
    finally:
        with contextlib.suppress(Exception):  # the server may be gone; then so is the session
            spark.stop()


def connect(endpoint: Endpoint, session_id: str | None = None) -> SparkSession:
    """Open a session on a server; the caller stops it.

    Connecting to a server that does not answer fails after some seconds. Later calls are repeated for
    minutes on a cluster, for seconds on this machine, where a server that does not answer is gone.

    :param session_id: a UUID, by which another process can find the session.
    :raises EngineError: when the server cannot be reached or refuses.
    """
    from grpc import RpcError
    from pyspark.errors import PySparkException

    os.environ[_CONNECT_MODE] = "1"
    warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")  # the error itself says it
    is_cluster = endpoint.token is None
    spark: SparkSession | None = None
    try:
        spark = create_session(endpoint.url, endpoint.token, session_id)
        set_retries(spark, _RETRIES if is_cluster else _LOCAL_RETRIES)
        if is_cluster:
            _check_version(endpoint, spark.version)
        else:
            leave_plans_uncompressed(spark)
        own = {NUMBER_PROPERTY: str(get_workers_number(spark.session_id))}
        set_properties(spark, _CASE | (_NEEDED if is_cluster else own))
        set_retries(spark, None if is_cluster else _RETRIES)
    except (PySparkException, RpcError, EngineError) as error:
        if spark is not None:
            discard_session(spark)
        if isinstance(error, EngineError):
            raise
        raise _create_refused_error(endpoint, error) from error
    return spark


def get_workers_number(session_id: str) -> int:
    """Return the number of the Python workers of a session that has no slot of workers."""
    return _NUMBERS_FROM + uuid.UUID(session_id).int % _NUMBERS_FROM


def _check_version(endpoint: Endpoint, found: str) -> None:
    """Check that a server is of the same major version as the installed client.

    :raises EngineError: when it is not.
    """
    from pyspark import __version__

    major = __version__.partition(".")[0]
    if found.partition(".")[0] != major:
        raise EngineError(
            f"The Spark server at {hide_parameters(endpoint.url)} is Spark {found}; "
            f"localcdap needs Spark {major}.",
            f"Use a cluster with Spark {major}.",
        )


def _create_refused_error(endpoint: Endpoint, error: Exception) -> EngineError:
    code = getattr(error, "getGrpcStatusCode", None)
    status: str | None = code().name if callable(code) else None
    details = re.search(r'details = "(.*)"', str(error))
    lines = (line.strip() for line in str(error).splitlines())
    reason = details[1] if details else next(filter(None, lines), repr(error))
    action = (
        _NO_TLS if "WRONG_VERSION_NUMBER" in reason else _ACTIONS.get(status or "", _OTHER_ACTION)
    )
    return EngineError(
        f"The Spark server at {hide_parameters(endpoint.url)} cannot be used: {reason.rstrip('.')}.",
        action,
    )
