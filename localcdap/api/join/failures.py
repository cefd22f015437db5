"""The parts of a join, and the failures of each (CDAP 6 ``etl.api.join.error.JoinError.Type``)."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from localcdap.api.failures import FailureBuilder, FailureCollector


class JoinPart(enum.Enum):
    """A part of a join that a property of a plugin may define."""

    SELECTED_FIELDS = "selected fields"
    BROADCAST = "broadcast stages"
    KEYS = "keys"
    EXPRESSION = "expression"
    EXPRESSION_STAGES = "stages of an expression"
    ALIASES = "aliases"
    DISTRIBUTION_FACTOR = "distribution factor"
    DISTRIBUTION_STAGE = "skewed stage"


class JoinFailures:
    """Adds failures of a join to a stage.

    :param properties: the properties that define the parts; failures of other parts are those of the stage.
    """

    def __init__(self, failures: FailureCollector, properties: Mapping[JoinPart, str]) -> None:
        self._failures = failures
        self._properties = properties

    def __len__(self) -> int:
        return len(self._failures)

    def add(
        self, part: JoinPart, message: str, action: str | None = None, element: str | None = None
    ) -> FailureBuilder:
        """Add a failure of a part of the join.

        :param element: of the property, where it is a list.
        """
        failure = self._failures.add(message, action)
        if part in self._properties:
            failure.with_config_property(self._properties[part], element=element)
        return failure
