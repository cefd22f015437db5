"""Everything that the engine uses of PySpark beyond its documented interface.

Seen in PySpark 4.1 (Spark Connect client). A test compares these names and signatures with the installed
PySpark (``tests/engine/test_spark_internals.py``), so that an upgrade that changes one fails there and not
in a run.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_CONNECTION_OPTIONS: Final = {
    "grpc.min_reconnect_backoff_ms": 2000,
    "grpc.max_reconnect_backoff_ms": 2000,
}
"""gRPC gives up one attempt at a connection after this time when nothing answers at all."""


def create_session(url: str, token: str | None, session_id: str | None) -> SparkSession:
    """Open a session on a Spark Connect server.

    ``SparkSession.builder.remote`` takes a token only from the URL or from the environment, where it would be
    sent to other servers too, and no gRPC options; ``DefaultChannelBuilder`` takes all of them.
    """
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    channel = DefaultChannelBuilder(url, list(_CONNECTION_OPTIONS.items()))
    if token is not None:
        channel.set("token", token)
    if session_id is not None:
        channel.set("session_id", session_id)
    return SparkSession.builder.channelBuilder(channel).create()


def activate_session(spark: SparkSession) -> None:
    """Make a session the active one of this thread: ``pyspark.ml`` saves and loads models with that.

    The session was opened in another thread.
    """
    from pyspark.sql.connect.session import SparkSession

    SparkSession._active_session.session = spark


def discard_session(spark: SparkSession) -> None:
    """Close the client of a session that could not be used, without a call to the server.

    Left open it would be the active session of this process.
    """
    spark.release_session_on_close = False
    spark.stop()


def set_retries(spark: SparkSession, retries: int | None) -> None:
    """Set how often the client repeats a call that the server does not answer.

    :param retries: about one second each; None for PySpark's default, which is minutes.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    policy = (
        DefaultPolicy()
        if retries is None
        else DefaultPolicy(max_retries=retries, max_backoff=1000, jitter=100)
    )
    client: Any = spark.client
    client.set_retry_policies([policy])


def set_properties(spark: SparkSession, properties: Mapping[str, str]) -> None:
    """Set several properties of a session in one round trip; ``spark.conf.set`` makes one for each."""
    conf: Any = spark.conf
    conf._set_all(dict(properties), silent=False)


def leave_plans_uncompressed(spark: SparkSession) -> None:
    """Have the client send plans as they are, without asking the server from which size on to compress them.

    That question is a round trip for each session, or several when threads ask at the same time.
    """
    client: Any = spark.client
    client._plan_compression_threshold, client._plan_compression_algorithm = -1, "NONE"


def find_running_operations(spark: SparkSession) -> list[str] | None:
    """Return the ids of a session's operations whose threads have not ended; None when the server cannot say.

    An operation that was interrupted, or whose client is gone, runs until its thread has ended. PySpark has
    the request as ``_get_operation_statuses``; a cluster with an older Spark does not know it.
    """
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException
    from pyspark.sql.connect.proto import GetStatusResponse

    client: Any = spark.client
    ask = getattr(client, "_get_operation_statuses", None)
    if ask is None:
        return None
    try:
        found = ask().operation_statuses
    except SparkConnectGrpcException as error:
        if error.getGrpcStatusCode().name == "UNIMPLEMENTED":
            return None
        raise
    running = GetStatusResponse.OperationStatus.OPERATION_STATE_RUNNING
    return [each.operation_id for each in found if each.state == running]


def close_channel(spark: SparkSession) -> None:
    """Make calls that wait for the server fail now.

    The client has no public way to abort calls from another thread: ``SparkSession.stop`` waits for the
    server.
    """
    client: Any = spark.client
    client._channel.close()


def assume_schema(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return a new DataFrame of the same plan whose schema is known without asking the server.

    A Connect DataFrame fetches its schema once and stores it in ``_cached_schema``: one round trip for each
    DataFrame that a plugin asks for its columns.
    """
    plain: Any = frame
    known: Any = type(frame)(plain._plan, plain._session)
    known._cached_schema = schema
    result: DataFrame = known
    return result


def read_in_batches(frame: DataFrame) -> Iterator[pa.Table]:
    """Compute a DataFrame and yield its rows in parts.

    ``DataFrame.toArrow`` does the same with all rows in memory at once.
    """
    remote: Any = frame
    client = remote._session.client
    plan = remote._plan.to_proto(client)
    for part in client.to_table_as_iterator(plan, remote._plan.observations):
        if hasattr(part, "num_rows"):  # the iterator also yields the schema
            yield part


def read_packed_frames(frames: Sequence[DataFrame]) -> list[tuple[pa.Table, StructType]]:
    """Compute DataFrames by one execution, and return the rows and the columns of each.

    The rows of each DataFrame are packed into a column of their own, because one execution has one result.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.pandas.types import to_arrow_schema

    packed: Any = functools.reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True),
        [
            frame.select(F.lit(number).alias("frame"), F.struct("*").alias(f"rows{number}"))
            for number, frame in enumerate(frames)
        ],
    )
    client = packed._session.client
    table, columns, _ = client.to_table(packed._plan.to_proto(client), packed._plan.observations)
    results = []
    for number in range(len(frames)):
        type = columns[f"rows{number}"].dataType
        own = table.filter(pc.equal(table["frame"], number)).column(f"rows{number}")
        parts = [pa.RecordBatch.from_struct_array(chunk) for chunk in own.chunks]
        rows = pa.Table.from_batches(parts, schema=pa.schema(list(own.type)))
        wanted = to_arrow_schema(type, timezone="UTC")
        results.append((rows.cast(_allow_nulls(wanted)), type))
    return results


def _allow_nulls(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([field.with_nullable(True) for field in schema])


class _LargestValues(dict[str, Any]):
    """Keeps the largest number and the longest list of each key."""

    def update(self, values: Any) -> None:  # type: ignore[override]
        for key, value in values.items():
            if isinstance(value, list):
                self[key] = max(self.get(key) or [], value, key=len)
            else:
                self[key] = max(self.get(key) or 0, value or 0)


def create_observation(name: str) -> Any:
    """Create an observation for rows that several actions read, of which each reports the count so far.

    ``Observation`` keeps the values of the first action only. Its ``_on`` is overridden for the values, and
    because the inherited method asks the server whether the data is streaming: a round trip for each
    observation.
    """
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    from pyspark.sql.connect.observation import Observation
    from pyspark.sql.connect.plan import CollectMetrics

    class LargestObservation(Observation):  # type: ignore[misc]
        def _on(self, df: Any, *exprs: Any) -> Any:
            self._result = _LargestValues()
            return ConnectFrame(CollectMetrics(df._plan, self, list(exprs)), df._session)

    return LargestObservation(name)


def find_last_observation(frame: DataFrame) -> Any | None:
    """Return the last observation of a DataFrame, if all of its rows are those of the DataFrame; else None.

    Columns may have been left out, renamed, or put into another order, after it.
    """
    from pyspark.sql.connect.plan import CollectMetrics, Drop, Project

    plain: Any = frame
    plan = plain._plan
    while isinstance(plan, Drop) or (
        isinstance(plan, Project) and all(_is_reference(column) for column in plan._columns)
    ):
        plan = plan._child
    return plan._observation if isinstance(plan, CollectMetrics) else None


def _is_reference(column: Any) -> bool:
    from pyspark.sql.connect.expressions import ColumnAlias, ColumnReference

    expression = column._expr
    while isinstance(expression, ColumnAlias):
        expression = expression._child
    return isinstance(expression, ColumnReference)


def add_below_observations(frame: DataFrame, add: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Return a DataFrame with columns that are added before its last observations, which do not read them.

    The observations move into the new DataFrame: the given one must not be computed any more.
    """
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
    from pyspark.sql.connect.plan import CollectMetrics

    plain: Any = frame
    plan, session = plain._plan, plain._session
    if not isinstance(plan, CollectMetrics):
        return add(frame)
    below: Any = add_below_observations(ConnectFrame(plan._child, session), add)
    return ConnectFrame(CollectMetrics(below._plan, plan._observation, plan._exprs), session)


def pickle_code(value: Any) -> bytes:
    """Pickle a function with PySpark's own cloudpickle, as Spark's Python workers unpickle it."""
    from pyspark import cloudpickle

    data: bytes = cloudpickle.dumps(value)
    return data


def send_module_by_value(module: Any) -> None:
    """Have the functions of a module pickled with their code: workers need not be able to import it."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(module)


def watch_expressions(get_name: Callable[[], str | None], note: Callable[[str], None]) -> None:
    """Name the creator of every expression that is created in this process, and note the texts of SQL.

    The server quotes the call site of the expression that fails (``DataFrameQueryContext``): PySpark sets it
    to a line of code, and only for methods of columns, not for functions. An expression that Spark parses
    from SQL loses its call site, and the server quotes its text instead. Nothing happens before PySpark's
    client is imported, or again.

    :param get_name: returns the name that becomes the call site; None leaves it as it is.
    :param note: called with each text of SQL that becomes an expression.
    """
    module: Any = sys.modules.get("pyspark.sql.connect.expressions")
    if module is None or hasattr(module, "_localcdap_origin"):
        return
    module._localcdap_origin = get_origin = module.current_origin

    class Origin:
        def __init__(self, fragment: str, call_site: str) -> None:
            self.fragment = fragment
            self.call_site = call_site

    def current_origin() -> Any:
        origin, name = get_origin(), get_name()
        return origin if name is None else Origin(origin.fragment or "expression", name)

    module.current_origin = current_origin
    create = module.SQLExpression.__init__

    @functools.wraps(create)
    def create_and_note(self: Any, expr: str) -> None:
        create(self, expr)
        note(expr)

    module.SQLExpression.__init__ = create_and_note


def get_daemon_manager() -> Callable[[], None]:
    """Return the main loop of the process from which Spark forks its Python workers."""
    from pyspark.daemon import manager

    loop: Callable[[], None] = manager
    return loop
