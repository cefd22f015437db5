"""What a failure suggests, as an edit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from localcdap.api.failures import ARTIFACT_NOT_FOUND, UNKNOWN_PROPERTY, ValidationFailure
from localcdap.pipeline.document.values import artifact_json
from localcdap.pipeline.editing.edits import Edit, SetPlugin, SetProperty, Together
from localcdap.tui.pipeline.editor import Editor

_MEANT: Final = re.compile(r"Did you mean '(.+)'\?")


def fix_of(editor: Editor, failure: ValidationFailure) -> Edit | None:
    """The edit that puts a failure right; None when its user has to think.

    A missing artifact is exchanged for the suggested one, a misspelt property is renamed.
    """
    stage = failure.stage
    use = editor.use(stage) if stage is not None else None
    if stage is None or use is None:
        return None
    if failure.type == ARTIFACT_NOT_FOUND and failure.suggested_artifact is not None:
        artifact = artifact_json(failure.suggested_artifact)
        return SetPlugin(stage, use.plugin.type, use.plugin.name, artifact)
    if failure.type == UNKNOWN_PROPERTY and failure.field is not None:
        meant = _MEANT.search(failure.corrective_action or "")
        value = editor.properties(stage).get(failure.field)
        if meant is not None and value is not None:
            gone = SetProperty(stage, failure.field)
            return Together([gone, SetProperty(stage, meant[1], value)])
    return None


def fix_of_all(editor: Editor, failures: Iterable[ValidationFailure]) -> Edit | None:
    """What all of them suggest, as one edit; None when none of them suggests anything."""
    edits = [edit for each in failures if (edit := fix_of(editor, each)) is not None]
    return Together(edits) if edits else None
