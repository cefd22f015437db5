"""Several pipelines tried one after the other in one process with one session: for tests of pipelines."""

from __future__ import annotations

import dataclasses
import datetime
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from localcdap.engine.driver.contexts import Surroundings
from localcdap.engine.driver.reporting import status
from localcdap.engine.driver.running import failed
from localcdap.engine.messages import Failed, RunStatus
from localcdap.engine.order import Case
from localcdap.engine.plan.resolving import resolve
from localcdap.engine.preview.previewing import (
    CaseBegan,
    CaseEnded,
    PreviewRun,
    PreviewWorkflow,
    end_with_owner,
)
from localcdap.messaging.spool import SpoolWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG: Final = logging.getLogger("localcdap.engine")


class CasesRun(PreviewRun):
    """Carries out the cases of an order. One that fails keeps none of the others from being tried."""

    def _carry_out(self, spool: SpoolWriter) -> RunStatus:
        threading.Thread(target=end_with_owner, name="owner", daemon=True).start()
        _, around = self._while_connecting(lambda: None)
        spool.append(status(RunStatus.RUNNING))
        for number, case in enumerate(self._order.cases):
            spool.append(CaseBegan(number))
            spool.append(CaseEnded(number, self._try_case(case, around, spool)))
        spool.append(status(RunStatus.COMPLETED))
        return RunStatus.COMPLETED

    def _try_case(self, case: Case, around: Surroundings, spool: SpoolWriter) -> Failed | None:
        """Why the case has failed; None when it has not."""
        order = msgspec.structs.replace(
            self._order,
            pipeline=case.pipeline,
            document=case.document,
            plugins=case.plugins,
            arguments=case.arguments,
            logical_start_ms=case.logical_start_ms,
            preview=case.preview,
            cases=[],
        )
        told = partial(self._tell, spool)
        around = dataclasses.replace(
            around,
            logical_start_time=datetime.datetime.fromtimestamp(
                case.logical_start_ms / 1000, datetime.UTC
            ),
        )
        try:
            resolved = resolve(order)
            with _properties(around.spark, resolved.spark_properties):
                steps = PreviewWorkflow(order, resolved, around, case.preview, told)
                steps.run_data()
                steps.run_ending()
        except Exception as error:
            return failed(self._outage.error() or error)
        return None


@contextmanager
def _properties(spark: SparkSession, properties: Mapping[str, str]) -> Iterator[None]:
    """The session with the properties of one pipeline, and without them for the next one."""
    before = {}
    for key, value in properties.items():
        try:
            before[key] = spark.conf.get(key, None)
            spark.conf.set(key, value)
        except Exception as error:  # as in a run
            first = str(error).splitlines()[0]
            _LOG.warning("Engine property '%s' cannot be set for a run: %s", key, first)
            before.pop(key, None)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)
