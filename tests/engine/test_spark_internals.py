"""What the engine uses of PySpark beyond its documented interface is as it was in PySpark 4.1."""

from __future__ import annotations

import inspect

import pytest

pytest.importorskip("pyspark")

from pyspark import cloudpickle, daemon
from pyspark.sql.connect import column, conf, dataframe, expressions, observation, plan, session
from pyspark.sql.connect.client import DefaultChannelBuilder, SparkConnectClient, core, retries
from pyspark.sql.connect.proto import GetStatusResponse

from localcdap.engine.spark_internals import create_observation, find_last_observation


def list_parameters(function) -> list[str]:
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (DefaultChannelBuilder.__init__, ["self", "url", "channelOptions"]),
        (DefaultChannelBuilder.set, ["self", "key", "value"]),
        (session.SparkSession.Builder.channelBuilder, ["self", "channelBuilder"]),
        (session.SparkSession.Builder.create, ["self"]),
        (SparkConnectClient.set_retry_policies, ["self", "policies"]),
        (SparkConnectClient._get_operation_statuses, ["self"]),
        (conf.RuntimeConf._set_all, ["self", "configs", "silent"]),
        (SparkConnectClient.to_table_as_iterator, ["self", "plan", "observations"]),
        (dataframe.DataFrame.__init__, ["self", "plan", "session"]),
        (observation.Observation._on, ["self", "df", "exprs"]),
        (plan.CollectMetrics.__init__, ["self", "child", "observation", "exprs"]),
        (plan.LogicalPlan.to_proto, ["self", "session"]),
        (cloudpickle.register_pickle_by_value, ["module"]),
        (daemon.manager, []),
    ],
)
def test_functions_have_the_parameters_that_are_passed(function, parameters):
    assert list_parameters(function)[: len(parameters)] == parameters


def test_retry_policies_take_the_options_that_are_set():
    assert {"max_retries", "max_backoff", "jitter"} <= set(
        list_parameters(retries.DefaultPolicy.__init__)
    )


@pytest.mark.parametrize(
    ("owner", "attribute"),
    [
        (dataframe.DataFrame, "_cached_schema"),
        (dataframe.DataFrame, "_plan"),
        (dataframe.DataFrame, "_session"),
        (observation.Observation, "_result"),
        (core.SparkConnectClient, "_channel"),
        (core.SparkConnectClient, "_plan_compression_algorithm"),
        (core.SparkConnectClient, "_plan_compression_threshold"),
        (session.SparkSession, "release_session_on_close"),
        (plan.LogicalPlan, "observations"),
        (plan.LogicalPlan, "_child"),
        (plan.CollectMetrics, "_observation"),
        (plan.CollectMetrics, "_exprs"),
        (plan.Project, "_columns"),
        (column.Column, "_expr"),
        (expressions.ColumnAlias, "_child"),
    ],
)
def test_attributes_still_have_their_names(owner, attribute):
    assert attribute in inspect.getsource(owner)


def test_the_states_of_operations_have_their_names():
    status = GetStatusResponse.OperationStatus
    assert status.OPERATION_STATE_RUNNING != status.OPERATION_STATE_TERMINATING
    assert {"operation_id", "state"} <= set(status.DESCRIPTOR.fields_by_name)


def test_the_plan_of_an_observed_frame_gives_the_counts_of_its_observation():
    assert "self._result" in inspect.getsource(observation.Observation.get.fget)


@pytest.mark.spark
def test_the_last_observation_counts_the_rows_of_what_is_selected_from_it(spark):
    from pyspark.sql import functions as F

    seen = create_observation("seen")
    rows = spark.range(3).withColumn("other", F.lit("x")).observe(seen, F.count(F.lit(1)))

    for same in (
        rows,
        rows.drop("other"),
        rows.select("other", F.col("id").alias("n")).select("`n`"),
    ):
        assert find_last_observation(same) is seen
    others = (
        rows.where("id > 1"),
        rows.select(F.explode(F.array("id", "id"))),
        rows.union(rows),
        spark.range(3),
    )
    assert [find_last_observation(each) for each in others] == [None] * 4
