"""What a run has said so far takes effect at the host before the run goes on."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from localcdap.api.errors import HostError
from localcdap.engine.driver.hosts import reach_host
from localcdap.engine.order import WorkOrder

_LOG: Final = logging.getLogger("localcdap.engine")
SERVICE: Final = "runs"
"""Name under which the host serves :class:`RunMessages`."""


class RunMessages:
    """The host's side, as the run process calls it."""

    def heed(self, run: str) -> None:
        """Give all that a run has said its effect: the rows that it wrote are then in their tables.

        :raises StoreError: when they cannot be put there.
        """
        raise NotImplementedError


def be_heeded(order: WorkOrder) -> None:
    """Have the host do now what it does soon anyway; nothing happens where there is no host.

    :raises StoreError: when rows cannot be put into their tables.
    """
    if order.host_directory is None:
        return
    try:
        with reach_host(Path(order.host_directory)) as client:
            client.service(SERVICE, RunMessages).heed(order.run_id)
    except HostError as error:
        _LOG.warning("What the sinks wrote may reach its tables later: %s", error.message)
