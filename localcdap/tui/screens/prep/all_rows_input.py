"""All rows of data as a file to which a recipe can be applied."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from localcdap.api.connector import SpecificationRequest
from localcdap.api.errors import BadRequestError
from localcdap.host.cdap import Cdap
from localcdap.tui.screens.prep.source import PrepRequest
from localcdap.tui.screens.prep.table_files import copy_table

_HOW: Final = ("format", "delimiter", "header", "encoding", "sheet")


@contextlib.contextmanager
def open_all_rows(
    cdap: Cdap, request: PrepRequest, is_stopped: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """Give the input of the method ``apply`` of Wrangler. A table becomes a file that is deleted afterwards.

    :param is_stopped: whether nobody waits for it any more; a table is read no further then.
    :raises BadRequestError: when the data are not in a file of this machine.
    """
    source = request.source
    how = {name: getattr(source, name) for name in _HOW}
    if source.connection:
        yield _find_file(cdap, request, how)
    elif source.table:
        with tempfile.TemporaryDirectory(prefix="localcdap-") as folder:
            file = Path(folder) / "rows.parquet"
            copy_table(cdap, request.namespace, source.table, file, is_stopped)
            yield {"path": str(file), "format": "parquet"}
    else:
        yield {"path": source.path, **how}


def _find_file(cdap: Cdap, request: PrepRequest, how: dict[str, Any]) -> dict[str, Any]:
    """Return the file that a connection of files shows."""
    source = request.source
    wanted = SpecificationRequest(source.place, source.reading, "File", "batchsource")
    related = cdap.connectors.specify(request.namespace, source.connection, wanted).related_plugins
    path = related[0].properties.get("path", "") if related else ""
    if source.types is not None or not Path(path).is_file():
        raise BadRequestError(
            f"All rows of '{source.name}' are read by a pipeline only.",
            "Open a pipeline with the recipe: x.",
        )
    return {"path": path, **how}
