"""The schedules of pipelines that were deployed with a localcdap that made none."""

from __future__ import annotations

import logging
from typing import Final

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.schedules.listener import DeploymentObserver
from localcdap.store.store import Store

_LOG: Final = logging.getLogger(__name__)


def make_earlier_schedules(store: Store, observer: DeploymentObserver) -> None:
    """Make the schedules that the documents of these pipelines ask for, suspended as those of a deployment.

    It takes place once for each pipeline: a schedule that is deleted afterwards stays deleted.
    """
    if not store.read("SELECT 1 FROM unscheduled_pipelines LIMIT 1"):
        return
    with store.transaction() as tx:
        found = tx.execute("SELECT namespace, name FROM unscheduled_pipelines ORDER BY ALL")
        for namespace, name in found:
            try:
                observer.follow_document(tx, namespace, name)
            except NotFoundError:  # it is not there any more
                continue
            except BadRequestError as error:
                _LOG.warning(
                    "The 'schedule' of pipeline '%s' in namespace '%s' cannot be used: %s",
                    name,
                    namespace,
                    error.message,
                )
        tx.execute("DELETE FROM unscheduled_pipelines")
