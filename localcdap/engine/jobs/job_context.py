"""What a job works with: a :class:`localcdap.api.app.jobs.JobContext`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api.app.transactions import TransactionRunner
from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.decoders import decode_json
from localcdap.engine.jobs.job_input import JobInput
from localcdap.engine.messages.orders import JobOrder, WorkOrder
from localcdap.engine.messages.spool import JobReported
from localcdap.engine.plan.contexts import RunContext
from localcdap.messaging.spool import SpoolWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class JobRunContext:
    """The context of one job in its process."""

    def __init__(
        self,
        order: WorkOrder,
        job: JobOrder,
        run: RunContext,
        transactions: TransactionRunner,
        input: JobInput | None,
        spool: SpoolWriter,
    ) -> None:
        self.id = order.run_id
        self.namespace = job.namespace
        self.arguments = job.arguments
        self.spark = run.spark
        self.is_remote = order.remote
        self.transactions = transactions
        self.logger = logging.getLogger("localcdap.job")
        self._job: Final = job
        self._folder: Final = Path(job.folder)
        self._input: Final = input
        self._spool: Final = spool

    def open_folder(self) -> Path:
        """Return the application's folder of the namespace.

        :raises NotFoundError: when it was removed, with the namespace.
        """
        if not self._folder.is_dir():
            raise NotFoundError(f"Namespace '{self.namespace.name}' was deleted.")
        return self._folder

    def read_input(self) -> DataFrame:
        """Return the records of the job's pipeline.

        :raises BadRequestError: when it has none.
        """
        return self._require_input().frame

    def count_input(self) -> dict[str, dict[str, int]]:
        """Return the counts of the stages of the pipeline."""
        return {
            name: {"in": each.in_, "out": each.out, "error": each.error}
            for name, each in self._require_input().count().items()
        }

    def report(self, message: str, fraction: float | None = None) -> None:
        """Say what the job does at the moment."""
        self._spool.append(JobReported(message, fraction))

    def encode_result(self, result: Any) -> Any:
        """Return the result of the job as plain values.

        :raises BadRequestError: when JSON cannot represent it.
        """
        try:
            return decode_json(msgspec.json.encode(result))
        except (TypeError, ValueError) as error:
            raise BadRequestError(
                f"The result of job '{self._job.job}' is not JSON: {error}."
            ) from None

    def _require_input(self) -> JobInput:
        if self._input is None:
            raise BadRequestError(f"Job '{self._job.job}' was submitted without a pipeline.")
        return self._input
