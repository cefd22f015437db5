"""Paths of Cloud Storage: ``gs://bucket/folder/file``."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api import PluginConfig, StageConfigurer

SCHEME: Final = "gs://"
_BUCKET: Final = re.compile(r"[a-z0-9._-]{1,222}")


def storage_path(written: str) -> str:
    """A path with its scheme, which the original lets one leave out: ``bucket/folder``."""
    text = written.strip()
    return text if text.startswith(SCHEME) else SCHEME + text.lstrip("/")


def check_storage_path(
    stage: StageConfigurer, config: PluginConfig, name: str, written: str | None
) -> None:
    """Check that a property's path has a bucket of a possible name, and a folder on this machine."""
    if not written or config.contains_macro(name):
        return
    bucket = storage_path(written)[len(SCHEME) :].partition("/")[0]
    if _BUCKET.fullmatch(bucket) is None:
        stage.failures.add(
            f"Invalid bucket name in path '{written}'.",
            "Write gs://bucket/folder; buckets have lower-case letters, digits, '-', '_' and '.'.",
        ).with_config_property(name)
    else:
        stage.requires_location(name, storage_path(written))
