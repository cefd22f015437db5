"""The aggregator Sampling: keeps some of the records."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Iterable, Iterator
from typing import Any, Final

from localcdap.api import (
    BatchAggregator,
    Emitter,
    LineageRecorder,
    PluginConfig,
    Record,
    StageConfigurer,
    StageContext,
    StageError,
    field,
    plugin,
)

SYSTEMATIC: Final = "Systematic"
RESERVOIR: Final = "Reservoir"


@plugin(
    name="Sampling",
    description="Keeps some of the records: one at each of equal distances, or any at random.",
)
class Sampling(BatchAggregator):
    """Properties are those of CDAP's plugin (romy-khetan/hydrator-plugins,
    ``co/cask/hydrator/plugin/batch/aggregator/Sampling.java``; its manual, ``Sampling-batchaggregator.md``).

    Records of a systematic sample are those at the source's positions. The source's reservoir begins with
    copies of one record; here it is what the manual says, a sample in which each record is as likely.
    """

    class Config(PluginConfig, macros=True, rename="camel"):
        sample_size: int | None = field("How many records are kept.", default=None)
        sample_percentage: float | None = field(
            "How many of 100 records are kept; it is used instead of the sample size.", default=None
        )
        sampling_type: str = field(
            "Systematic keeps a record at each of equal distances, Reservoir any at random.",
            choices=(SYSTEMATIC, RESERVOIR),
        )
        over_sampling_percentage: float | None = field(
            "How many of 100 records of a systematic sample are added to it.", default=None
        )
        random: float | None = field(
            "Where a systematic sample begins: a number from 0 to 1; by default it is drawn.",
            default=None,
        )
        total_records: int | None = field(
            "How many records the input has, for a systematic sample and for a percentage.",
            default=None,
        )

        def compute_size(self) -> int:
            """Return how many records are kept."""
            size = self.sample_size or 0
            if self.sample_percentage is not None:
                size = _round(self.sample_percentage / 100 * (self.total_records or 0))
            if self.sampling_type == SYSTEMATIC and self.over_sampling_percentage is not None:
                size = _round(size + size * self.over_sampling_percentage / 100)
            return size

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        self._check_sizes(stage)
        self._check_numbers(stage)

    def _check_sizes(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.macros & {"sampleSize", "samplePercentage", "totalRecords", "samplingType"}:
            return
        if config.sample_size is None and config.sample_percentage is None:
            stage.failures.add(
                "Either 'samplePercentage' or 'sampleSize' should be specified.", "Set one of them."
            ).with_config_property("sampleSize").with_config_property("samplePercentage")
        needs_total = config.sampling_type == SYSTEMATIC or config.sample_percentage is not None
        if needs_total and config.total_records is None:
            stage.failures.add(
                "The number of all records is not known.", "Set 'totalRecords'."
            ).with_config_property("totalRecords")

    def _check_numbers(self, stage: StageConfigurer) -> None:
        config = self.config
        for name, value, most in (
            ("sampleSize", config.sample_size, math.inf),
            ("samplePercentage", config.sample_percentage, 100),
            ("overSamplingPercentage", config.over_sampling_percentage, math.inf),
            ("totalRecords", config.total_records, math.inf),
        ):
            if value is not None and not 0 < value <= most:
                above = "" if most == math.inf else f", and at most {most}"
                stage.failures.add(
                    f"'{name}' is {value:g}.", f"Set it to a number above 0{above}."
                ).with_config_property(name)
        if config.random is not None and not 0 <= config.random <= 1:
            stage.failures.add(
                f"'random' is {config.random:g}.", "Set it to a number from 0 to 1."
            ).with_config_property("random")

    def record_lineage(self, lineage: LineageRecorder) -> None:
        """Each field stays as it is, and none decides which records are kept."""

    def initialize(self, context: StageContext) -> None:
        # A stage that is debugged, and one that a task repeats, must not give another sample.
        self._random = random.Random(context.run_id)  # noqa: S311 - nothing secret

    def group_by(self, record: Record) -> Iterable[Any]:
        return ["sample"]

    def aggregate(self, key: Any, records: Iterator[Record], emit: Emitter) -> None:
        size = self.config.compute_size()
        if self.config.sampling_type == RESERVOIR:
            for record in self._draw(records, size):
                emit(record)
        else:
            self._pick(records, size, emit)

    def _draw(self, records: Iterator[Record], size: int) -> list[Record]:
        """Return a sample of a size, in the order of the records: those with the largest random numbers."""
        numbers = itertools.count()
        drawn = ((self._random.random(), next(numbers), record) for record in records)
        kept = heapq.nlargest(size, drawn, key=lambda each: each[:2])
        return [record for _, _, record in sorted(kept, key=lambda each: each[1])]

    def _pick(self, records: Iterator[Record], size: int, emit: Emitter) -> None:
        """Emit the records at the positions of a systematic sample.

        :raises StageError: when there are fewer records.
        """
        positions, count = self._list_positions(size), 0
        for place, record in enumerate(records):
            count += 1
            while positions and positions[0] == place:
                emit(record)
                positions.pop(0)
        if positions:
            raise StageError(
                f"A systematic sample needs record {positions[-1] + 1:,}, but the input has {count:,}; "
                f"'totalRecords' says {self.config.total_records or 0:,}.",
                "Set 'totalRecords' to the number of records of the input.",
            )

    def _list_positions(self, size: int) -> list[int]:
        step = (self.config.total_records or 0) // size if size else 0
        begin = self.config.random if self.config.random is not None else self._random.random()
        first = _round(step * begin)
        return sorted([first, *(first + n * step - 1 for n in range(1, size))]) if size else []


def _round(value: float) -> int:
    """Round as Java's ``Math.round``: a half upwards."""
    return math.floor(value + 0.5)
