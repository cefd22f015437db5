"""The page about compatibility, made of the routes: ``python -m localcdap.server.rest.compatibility``."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final

from localcdap.server.rest.router import RestRoute, RouteTable
from localcdap.server.rest.table import TABLES

_VERSION: Final = "/versions/{version}"
_ALIASES: Final = ("/apps/pipelines/services/studio/", "/endpoints/{dataset}/")
"""Parts of paths that are other forms of the original's."""
_SHORT: Final = {
    "/v3/namespaces/system/apps/pipeline/services/studio/methods/v1": "STUDIO",
    "/v3/namespaces/{namespace}": "NS",
}
"""Beginnings of many paths, and what the page writes for them."""
_HEAD: Final = """\
# Compatibility of the REST API

{contents}

The endpoints of CDAP 6 that `localcdap server` answers, generated from its routes. [REST](rest.md) says how
to use them.

- *yes*: as the original, as far as clients of it are known.
- *partly*: something is missing, and is named.
- *no*: the answer is an error with this reason.

`[…]` in a path may be left out. `NS` is `/v3/namespaces/{{namespace}}`, and `STUDIO` is
`/v3/namespaces/system/apps/pipeline/services/studio/methods/v1`. A path that is not listed answers 404.
"""


def build_page() -> str:
    """Return the page as Markdown."""
    contents = " ·\n".join(f"[{each.area}](#{_to_anchor(each.area)})" for each in TABLES)
    return "\n".join(
        (
            _HEAD.format(contents=contents),
            *(line for table in TABLES for line in _describe_table(table)),
        )
    )


def _to_anchor(title: str) -> str:
    return re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-")


def _describe_table(table: RouteTable) -> Iterator[str]:
    yield f"## {table.area}\n"
    yield "| endpoint | | |"
    yield "| --- | --- | --- |"
    known = {(each.method, each.pattern) for each in table.routes}
    for route in sorted(table.routes, key=lambda each: each.pattern.replace(_VERSION, "")):
        is_other_form = any(each in route.pattern for each in _ALIASES)
        # The form with the version follows the one without it, which has a row for both.
        short = route.pattern.replace(_VERSION, "", 1)
        is_version = short != route.pattern and (route.method, short) in known
        if not is_other_form and not (is_version and _is_program(route)):
            has_both = _is_program(route) and (route.method, _add_version(route)) in known
            yield _describe(route, has_both=has_both)
    yield ""


def _describe(route: RestRoute, *, has_both: bool) -> str:
    path = _add_version(route, f"[{_VERSION}]") if has_both else route.pattern
    for beginning, word in _SHORT.items():
        path = path.replace(beginning, word)
    state = "no" if not route.is_built else "partly" if route.lack else "yes"
    return f"| {route.method} `{path.replace('...', '…')}` | {state} | {route.lack} |"


def _is_program(route: RestRoute) -> bool:
    """Whether a path goes on after the application or its version."""
    return not route.pattern.endswith((_VERSION, "/apps/{app}"))


def _add_version(route: RestRoute, version: str = _VERSION) -> str:
    return route.pattern.replace("/apps/{app}", f"/apps/{{app}}{version}", 1)


if __name__ == "__main__":
    sys.stdout.write(build_page())
