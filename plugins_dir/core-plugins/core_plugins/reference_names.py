"""Reference names: what a source or sink is called in lineage."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api import StageConfigurer

_ALLOWED: Final = re.compile(r"[$.a-zA-Z0-9_-]+")


def check_reference_name(stage: StageConfigurer, name: str | None) -> None:
    """Add a failure for a name with characters that CDAP 6 ``IdUtils`` does not allow."""
    if name is not None and _ALLOWED.fullmatch(name) is None:
        stage.failures.add(
            f"Invalid reference name '{name}'.",
            "Supported characters are: letters, numbers, and '_', '-', '.', or '$'.",
        ).with_config_property("referenceName")
