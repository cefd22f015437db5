"""The literal paths of the services of applications (design "System Applications", section Endpoints).

CDAP serves the methods of a service below ``services/NAME/methods``, and those of the handlers of a Spark
program below ``spark/NAME/methods``::

    /v3/namespaces/system/apps/ReportGenerationApp/spark/ReportGenerationSpark/methods/reports/info
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

import msgspec

from localcdap.api.app.application import SERVICE, SPARK
from localcdap.api.app.events import SYSTEM_NAMESPACE
from localcdap.api.errors import NotFoundError

PROGRAM_TYPES: Final = {"services": SERVICE, "spark": SPARK}
"""The type of a program by its word in paths."""
_PROGRAM: Final = re.compile(r"/?(services|spark)/([^/]+)/methods(/.*)?")
_WHOLE: Final = re.compile(r"/v3/namespaces/([^/]+)/apps/([^/]+)/(.*)", re.DOTALL)


class MethodAddress(msgspec.Struct, frozen=True):
    """The service of an application that a path names, and the rest of the path."""

    program_type: str
    service: str
    path: str
    """Begins with ``/``."""


def parse_method_path(path: str) -> MethodAddress | None:
    """Return what a path inside an application names; None for a path inside a service.

    >>> parse_method_path("spark/ReportGenerationSpark/methods/reports")
    MethodAddress(program_type='Spark', service='ReportGenerationSpark', path='/reports')
    """
    found = _PROGRAM.fullmatch(path)
    if found is None:
        return None
    word, service, rest = found.groups()
    return MethodAddress(PROGRAM_TYPES[word], unquote(service), rest or "/")


def split_address(address: str) -> tuple[str, str]:
    """Return the application that a whole path names, and the path inside it.

    :raises NotFoundError: when the path is none of a method of a service.
    """
    found = _WHOLE.fullmatch(address)
    if found is None or parse_method_path(found[3]) is None:
        raise NotFoundError(
            f"Nothing is at {address}.",
            "A method of a service is at /v3/namespaces/system/apps/APP/services/NAME/methods/…, and that of "
            "a Spark program at …/spark/NAME/methods/….",
        )
    if found[1] != SYSTEM_NAMESPACE:
        raise NotFoundError(
            f"There is no application '{unquote(found[2])}' in namespace '{unquote(found[1])}'.",
            f"System applications are in the namespace '{SYSTEM_NAMESPACE}'.",
        )
    return unquote(found[2]), found[3]
