"""Files of this machine, for actions."""

from __future__ import annotations

from pathlib import Path

from localcdap.api import ActionContext
from localcdap.plugin_lib.files.inputs import is_remote


def resolve_local(context: ActionContext, path: str) -> Path:
    """Return the local path of a path in a pipeline document.

    :raises StageError: for a path that is not on this machine.
    """
    destination = context.resolve_path(path)
    if context.is_remote or is_remote(destination):
        raise context.fail(
            f"'{destination}' is not on this machine; actions can only access local files.",
            "Map it to a local folder under [locations] in localcdap.toml, and run the pipeline here.",
        )
    return Path(destination)
