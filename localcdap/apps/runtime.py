"""An application with its services and listeners, made and ready for requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from localcdap.api.app.application import APPLICATION_MARK, SystemApplication
from localcdap.api.app.context import SystemContext
from localcdap.api.app.events import SystemEventListener
from localcdap.api.app.http_status import status_of
from localcdap.api.errors import BadRequestError, LocalcdapError, NotFoundError
from localcdap.apps.model import AppAnswer, AppRequest, listener_key
from localcdap.apps.routing import Router

Listen = Callable[[SystemEventListener[Any], str], "Deliveries"]
"""Makes what hands events over to a listener, whose position is kept under a name."""


class Deliveries(Protocol):
    """See :class:`localcdap.datasets.listeners.TableListenerDelivery`."""

    def deliver(self) -> int: ...


class AppRuntime:
    """Threads may share it.

    :param listen: makes what hands events over to a listener.
    :raises Exception: what the application raises when its parts are made.
    """

    def __init__(
        self, app: type[SystemApplication], context: SystemContext, listen: Listen
    ) -> None:
        self._routers: dict[str, Router] = {}
        for cls in app.services:
            service = cls(context)
            service.initialize()
            self._routers[cls.name] = Router(service, context.get_namespace_summary)
        name = vars(app)[APPLICATION_MARK][0]
        self._listening: Final = {
            each.name: listen(each(), listener_key(name, each.name)) for each in app.listeners
        }

    def answer(self, request: AppRequest) -> AppAnswer:
        """Answer a request; whatever goes wrong is an answer, too."""
        try:
            router = self._router(request.service)
        except LocalcdapError as error:
            body = {"message": error.message, "correctiveAction": error.corrective_action}
            return AppAnswer(status_of(error), body)
        return router.answer(request)

    def deliver(self, listener: str) -> int:
        """Hand over the events that a listener has yet to see; how many messages were passed.

        :raises Exception: what the listener raised.
        """
        listening, passed = self._listening[listener], 0
        while done := listening.deliver():
            passed += done
        return passed

    def deliver_all(self) -> int:
        """:meth:`deliver` to each listener."""
        return sum(map(self.deliver, self._listening))

    def _router(self, service: str | None) -> Router:
        known = ", ".join(self._routers) or "none"
        if service is None:
            if len(self._routers) != 1:
                raise BadRequestError("Which service is meant?", f"Services: {known}.")
            return next(iter(self._routers.values()))
        if service not in self._routers:
            raise NotFoundError(f"There is no service '{service}'.", f"Services: {known}.")
        return self._routers[service]
