"""Previews whose records connectors show."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import BadRequestError
from localcdap.engine.messages.samples import StageSample
from localcdap.runs.preview.model import Preview, PreviewStatus
from localcdap.runs.preview.service import PreviewService

_WAIT_S: Final = 5.0


def wait_for_sample(
    previews: PreviewService, preview: Preview, stage: str, what: str
) -> StageSample:
    """Wait for the end of a preview, and return the sample of a stage.

    :param what: the subject of the message when there is none, such as ``Source 'File'``.
    :raises BadRequestError: when there is none.
    """
    while not preview.status.is_end:
        preview = previews.wait(preview.namespace, preview.preview, preview.version, _WAIT_S)
    found = preview.stages.get(stage)
    if preview.status is not PreviewStatus.COMPLETED or found is None:
        reasons = [each.message for each in preview.errors]
        if preview.error is not None:
            reasons.append(preview.error.message)
        raise BadRequestError(
            f"{what} cannot be read: {'; '.join(reasons) or preview.status.value}",
            "Correct the connection, or what it shows.",
        )
    return found
