"""Choosing what stands in for a stage: a recording, generated records or a placeholder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api.errors import BadRequestError
from localcdap.pipeline.recordings.model import INSTANCE, parse_recording
from localcdap.pipeline.rules.plugin_types import ACTIONS, SINKS, SOURCE
from localcdap.tui.document.editor import Editor
from localcdap.tui.studio import StudioNode, get_studio

if TYPE_CHECKING:
    from localcdap.host import Cdap

_FORMS: Final = {
    "source": ("generate:100", "a file, table:NAME, dataset:NAME or generate:N"),
    "sink": ("discard", "a folder such as out.csv, table:NAME,KEY or discard"),
    "action": ("skip", "skip does nothing in its place"),
    "other": ("pass", "pass hands its records on"),
}
"""By kind of stage, a suggestion and what there is."""


class RecordingActions:
    """The action that sets or removes the recording of a stage.

    :param node: the widget that calls the services.
    """

    def __init__(self, node: StudioNode, editor: Editor) -> None:
        self._node = node
        self._editor = editor

    async def change(self, stage: str) -> None:
        """Ask for the recording of a stage, and validate with it. Await it in a worker."""
        state = self._editor.get_state(stage)
        set_now = state.stand_in if state is not None else None
        suggested, forms = _FORMS[self._find_kind(stage)]
        text = await get_studio(self._node).ask(
            f"Recording of {stage}",
            set_now.recording if set_now is not None else suggested,
            detail=f"What it uses in place of its system: {forms}. Empty: its own plugin.",
            verb="Set",
            check=_find_problem,
        )
        if text is None or (set_now is not None and text.strip() == set_now.recording):
            return
        await self._node.call_and_wait(lambda cdap: self._store(cdap, stage, text.strip()))
        self._editor.revalidate()

    def _find_kind(self, stage: str) -> str:
        use = self._editor.get_stage(stage)
        type = use.plugin.type if use is not None else ""
        if type == SOURCE:
            return "source"
        if type in SINKS:
            return "sink"
        return "action" if type in ACTIONS else "other"

    def _store(self, cdap: Cdap, stage: str, text: str) -> None:
        """Keep a recording; an empty text removes the one that the studio has set."""
        editor = self._editor
        name = editor.document.name or editor.title
        key = f"stage:{name}/{stage}"
        if text:
            cdap.recordings.set_recording(editor.namespace, key, text)
            return
        stored = cdap.recordings.list_recordings(editor.namespace)
        if any(each.subject == key and each.origin == INSTANCE for each in stored):
            cdap.recordings.remove_recording(editor.namespace, key)
            return
        raise BadRequestError(
            f"The recording of '{stage}' is not one of this stage alone.",
            "Remove it where it was set; 'localcdap recordings' lists where that is.",
        )


def _find_problem(text: str) -> str | None:
    """Return what is wrong with a recording; an empty text is none."""
    try:
        if text.strip():
            parse_recording(text)
    except BadRequestError as error:
        return error.full_message
    return None
