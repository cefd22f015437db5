"""Changing the settings of an open pipeline, in its document and in the instance."""

from __future__ import annotations

from functools import partial

from localcdap.tui.document.editor import Editor
from localcdap.tui.pipeline.environment import (
    list_connection_names,
    read_environment,
    set_profile,
)
from localcdap.tui.pipeline.settings_dialog import PipelineSettingsDialog
from localcdap.tui.studio import StudioNode, get_studio


class SettingsActions:
    """The action that changes the settings of a pipeline.

    :param node: the widget that calls the services.
    """

    def __init__(self, node: StudioNode, editor: Editor) -> None:
        self._node = node
        self._editor = editor

    async def change(self) -> None:
        """Ask for the settings, and keep what was changed. Await it in a worker."""
        editor, studio = self._editor, get_studio(self._node)
        namespace, names = editor.namespace, list_connection_names(editor)
        found = await self._node.call_and_wait(
            lambda cdap: read_environment(cdap, namespace, editor.title, names)
        )
        changed = await self._node.app.push_screen_wait(PipelineSettingsDialog(editor, found))
        if changed is None:
            return
        if changed.edit is not None:
            editor.apply(changed.edit, origin=self._node)
        if changed.profile is not None:
            profile, name = changed.profile, editor.title
            self._node.call(
                partial(set_profile, namespace=namespace, pipeline=name, profile=profile),
                lambda _: studio.show_notice(
                    f"Runs of '{name}' take place on profile '{profile}'."
                    if profile
                    else f"Runs of '{name}' take place on the default profile."
                ),
            )
