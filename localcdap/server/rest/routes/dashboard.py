"""The dashboard of operations (CDAP 6 ``OperationsDashboardHttpHandler``)."""

from __future__ import annotations

from typing import Final

from localcdap.server.rest.answers import Answer, RestError, send_json
from localcdap.server.rest.request import RestRequest
from localcdap.server.rest.router import RouteTable

ROUTES: Final = RouteTable("Dashboard and reports")


@ROUTES.add("GET", "/v3/dashboard")
def read_dashboard(request: RestRequest) -> Answer:
    """Return the runs of a window of time, and those that are planned in it; times in seconds."""
    for name in ("start", "duration"):
        if not request.get(name):
            raise RestError(400, f"'{name}' must be specified.")
    return send_json(
        request.cdap.statistics.read_dashboard(
            request.get_number("start", 0),
            request.get_number("duration", 0),
            request.query.get("namespace", []),
        )
    )
