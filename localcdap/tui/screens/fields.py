"""The choice of a field whose lineage is shown."""

from __future__ import annotations

from collections.abc import Sequence

from localcdap.tui.labels import sanitize_name
from localcdap.tui.studio import Choice, Studio


async def choose_field(studio: Studio, names: Sequence[str], *, whole: bool = True) -> str | None:
    """Let the user choose a field. Await it in a worker.

    :param whole: whether the dataset itself can be chosen too.
    :returns: an empty text for the dataset itself; None when the user cancels.
    """
    fields = [Choice(sanitize_name(name), name) for name in names]
    choices = [Choice("the whole dataset", ""), *fields] if whole else fields
    return await studio.choose(choices, title="Lineage of the field")
