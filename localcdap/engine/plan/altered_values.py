"""The values that the stages of a run alter, counted by kind of change: each kind is reported once.

Spark delivers what the tasks that succeeded have counted, so that a repeated task counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from localcdap.engine.messages.samples import AlteredValues
from localcdap.engine.plan.record_counter import ROWS, count_rows
from localcdap.engine.spark_internals import create_observation
from localcdap.engine.tasks.context import AlteredCounts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FIRST: Final = "first"


class StageAlteredValues(AlteredCounts):
    """What one stage alters, counted in this process and by Spark."""

    def __init__(self) -> None:
        super().__init__()
        self._observed: Final[list[tuple[str, Any, Callable[[str], str]]]] = []

    @property
    def is_observed(self) -> bool:
        """Whether Spark counts altered rows."""
        return bool(self._observed)

    def observe(
        self,
        df: DataFrame,
        name: str,
        change: str,
        is_altered: Column,
        first: Column,
        locate: Callable[[str], str],
    ) -> DataFrame:
        """Have Spark count the altered rows of a DataFrame.

        :param name: the name of the observation, unique in the session.
        """
        from pyspark.sql import functions as f

        observation = create_observation(name)
        self._observed.append((change, observation, locate))
        # Of the values that several actions report the largest number and the longest list are kept.
        smallest = f.array_compact(f.array(f.min(f.when(is_altered, first)))).alias(_FIRST)
        observed: DataFrame = df.observe(observation, count_rows(is_altered).alias(ROWS), smallest)
        return observed

    def take(self) -> list[tuple[str, int, str]]:
        """See :meth:`AlteredCounts.take`; the actions of the observed DataFrames must have ended."""
        while self._observed:
            change, observation, locate = self._observed.pop(0)
            values = observation.get
            if values.get(ROWS):
                for first in values[_FIRST]:
                    self.add(change, locate(first), values[ROWS])
        return super().take()


class RunAlteredValues:
    """What all stages of a run alter."""

    def __init__(self) -> None:
        self._stages: Final[dict[str, StageAlteredValues]] = {}

    @property
    def is_observed(self) -> bool:
        """Whether Spark counts altered rows."""
        return any(stage.is_observed for stage in self._stages.values())

    def get(self, stage: str) -> StageAlteredValues:
        """Return the counts of a stage."""
        return self._stages.setdefault(stage, StageAlteredValues())

    def take(
        self, stages: Iterable[str], counted: Iterable[tuple[str, str, int, str]] = ()
    ) -> list[AlteredValues]:
        """Return what stages have altered since the last call.

        :param counted: what Python workers have reported: stage, change, number and the first value.
        """
        for stage, change, number, first in counted:
            self.get(stage).add(change, first, number)
        return [
            AlteredValues(stage, change, number, first)
            for stage in stages
            for change, number, first in self.get(stage).take()
        ]
