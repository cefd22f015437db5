"""Reference names of recordings: lineage must not say that a system was read that is not here."""

from __future__ import annotations

import re

from localcdap.pipeline.document.model import StageUse

REFERENCE = "referenceName"
"""The property in which CDAP's sources and sinks have their name in lineage."""


def name_reference(stage: StageUse) -> str:
    """Return the name of a stage's recording in lineage."""
    name = stage.plugin.properties.get(REFERENCE) or stage.name
    return "recorded." + re.sub(r"[^A-Za-z0-9_.$-]+", "_", name)
