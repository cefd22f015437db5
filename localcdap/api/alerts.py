"""Alerts, and the plugins that publish them at the end of a run (CDAP 6 ``etl.api.AlertPublisher``)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol, TypeVar

import msgspec

from localcdap.api.control import ControlContext
from localcdap.api.plugin import Plugin
from localcdap.api.stage import StageConfigurer
from localcdap.api.topics import TopicContext

_Item = TypeVar("_Item")
_SECOND: Final = 1.0


class Alert(msgspec.Struct, frozen=True, rename="camel"):
    """An alert that a stage has emitted. Its JSON is ``{"stageName": …, "payload": {…}}``."""

    stage_name: str
    payload: dict[str, str | None]


class AlertContext(ControlContext, TopicContext, Protocol):
    """An alert publisher at run time, in the run's own process."""


class AlertPublisher(Plugin):
    """Publishes the alerts of the stages that are connected to it.

    It is called once at the end of a run, whether the run has succeeded or not, after the post actions; not
    when there are no alerts. An exception is logged and does not change the status of the run.
    """

    types = ("alertpublisher",)
    context: AlertContext
    """Set by :meth:`initialize`."""

    def configure(self, stage: StageConfigurer) -> None:
        """Accept any input. An alert publisher gets no records, and has no output schema."""

    def initialize(self, context: AlertContext) -> None:
        """Prepare for alerts: called once before :meth:`publish`. Call it from an override."""
        self.context = context

    def publish(self, alerts: Iterator[Alert]) -> None:
        """Publish all alerts, which come stage by stage, and of a stage in no certain order."""
        raise NotImplementedError

    def destroy(self) -> None:
        """Release resources; called once, also after an exception."""


def limit_rate(
    items: Iterator[_Item],
    per_second: int,
    logger: logging.Logger,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[_Item]:
    """Yield items, at most ``per_second`` of them in a second; wait for the next second after these.

    The rule, and the line that is logged, are those of CDAP's ``TMSAlertPublisher``.
    """
    began, taken = now(), 0
    for item in items:
        passed = now() - began
        if passed >= _SECOND:
            began, taken = now(), 0
        elif taken >= per_second:
            rest = _SECOND - passed
            logger.info(
                "Hit maximum of %d published alerts in the past second, sleeping for %d millis.",
                taken,
                round(rest * 1000),
            )
            sleep(rest)
            began, taken = now(), 0
        taken += 1
        yield item
