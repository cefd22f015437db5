"""Running and previewing a pipeline, with the checks and the questions before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from localcdap.api.errors import InvalidPipelineError, LocalcdapError
from localcdap.pipeline.validation.datasets import DATASET_UPDATE
from localcdap.runs.model import RunRequest
from localcdap.runs.preview.model import PreviewRequest
from localcdap.tui.document.editor import Editor
from localcdap.tui.pipeline.activity import ActivityRunner
from localcdap.tui.screens.runs.arguments import ask_arguments
from localcdap.tui.studio import StudioNode, get_studio


def needs_dataset_updates(error: LocalcdapError) -> bool:
    """Return whether a run was refused only because datasets must change before it can write them."""
    failures = _list_failures(error)
    return bool(failures) and all(each["type"] == DATASET_UPDATE for each in failures)


def _list_failures(error: LocalcdapError) -> Sequence[dict[str, Any]]:
    return error.failures if isinstance(error, InvalidPipelineError) else ()


class RunActions:
    """The run and preview actions of a pipeline. The methods are awaited in a worker.

    :param node: the widget that calls the services.
    :param runner: starts and follows what is run.
    """

    def __init__(self, node: StudioNode, editor: Editor, runner: ActivityRunner) -> None:
        self._node = node
        self._editor = editor
        self._runner = runner

    async def repeat_connected_checks(self) -> None:
        """Make the connected checks of failed stages again: their files may have been corrected since."""
        stages = self._editor.list_detected_failures()
        if stages:
            try:
                await self._editor.detect_and_wait(stages)
            except LocalcdapError as error:
                get_studio(self._node).report_error(error)

    async def run(self, *, always_ask: bool) -> None:
        """Run the pipeline, with the arguments of the last run.

        :param always_ask: ask for arguments even when no value is missing.
        """
        editor = self._editor
        text, namespace, name = editor.to_text(), editor.namespace, editor.title
        if not await ask_arguments(self._node, editor, "Run", always_ask=always_ask):
            return
        source = editor.source
        is_deployed = source.application is not None and not editor.is_changed
        self._runner.run(
            RunRequest(
                text,
                namespace=namespace,
                name=name,
                arguments=editor.arguments,
                application=source.application if is_deployed else None,
                application_version=source.version if is_deployed else None,
            )
        )

    async def run_with_updates(self, request: RunRequest, error: LocalcdapError) -> None:
        """Ask whether the datasets that a run cannot write yet may change, and start it again if so."""
        changes = [each["message"] for each in _list_failures(error)]
        if await get_studio(self._node).confirm(
            "Change the dataset and run?", "\n".join(changes), "Change and run"
        ):
            self._runner.run(msgspec.structs.replace(request, update_datasets=True))

    async def preview(self) -> None:
        """Preview the pipeline, with the arguments as for a run."""
        editor = self._editor
        text, namespace, name = editor.to_text(), editor.namespace, editor.title
        if await ask_arguments(self._node, editor, "Preview"):
            self._runner.preview(
                PreviewRequest(text, namespace=namespace, name=name, arguments=editor.arguments)
            )
