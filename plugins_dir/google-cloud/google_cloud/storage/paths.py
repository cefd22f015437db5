"""Paths of Cloud Storage, ``gs://bucket/folder/file``, and the local files that stand for its objects."""

from __future__ import annotations

import glob
import re
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api import ControlContext, PluginConfig, StageConfigurer
from localcdap.plugin_lib.files.inputs import is_remote

SCHEME: Final = "gs://"
_BUCKET: Final = re.compile(r"[a-z0-9._-]{1,222}")


def add_scheme(written: str) -> str:
    """Return a path with its scheme, which is optional in CDAP: ``bucket/folder``."""
    text = written.strip()
    return text if text.startswith(SCHEME) else SCHEME + text.lstrip("/")


def check_storage_path(
    stage: StageConfigurer, config: PluginConfig, name: str, written: str | None
) -> None:
    """Check that the bucket name of a property's path is valid, and that a local folder stands for it."""
    if not written or config.contains_macro(name):
        return
    bucket = add_scheme(written)[len(SCHEME) :].partition("/")[0]
    if _BUCKET.fullmatch(bucket) is None:
        stage.failures.add(
            f"Invalid bucket name in path '{written}'.",
            "Write gs://bucket/folder; bucket names have lower-case letters, digits, '-', '_' and '.'.",
        ).with_config_property(name)
    else:
        stage.requires_location(name, add_scheme(written))


_WILDCARD: Final = "*"


class StorageObjects(msgspec.Struct, frozen=True):
    """The local files that a path of Cloud Storage stands for."""

    written: str
    """The path in the document, with its scheme: ``gs://bucket/name``."""
    place: Path
    """The local path; its name may be a pattern."""

    @property
    def name(self) -> str:
        """The path inside the bucket, without slashes at its ends; empty for the bucket itself."""
        return self.written[len(SCHEME) :].partition("/")[2].strip("/")

    @property
    def is_pattern(self) -> bool:
        return _WILDCARD in self.name

    @property
    def is_folder(self) -> bool:
        """Whether the path is a folder: an existing one, or a path that ends with '/'."""
        return self.written.endswith("/") or self.place.is_dir()

    def list_paths(self) -> list[Path]:
        """Return the existing files and folders, sorted."""
        if not self.is_pattern:
            return [self.place] if self.place.exists() or self.place.is_symlink() else []
        literal = glob.escape(str(self.place)).replace("[*]", _WILDCARD)
        return [Path(path) for path in sorted(glob.glob(literal, include_hidden=True))]  # noqa: PTH207


def resolve_objects(context: ControlContext, path: str) -> StorageObjects:
    """Return the local files of a path.

    :raises StageError: for a path that is not on this machine.
    """
    written = add_scheme(path)
    place = context.resolve_path(written)
    if context.is_remote or is_remote(place):
        raise context.fail(
            f"'{written}' is not on this machine; actions can only access local files.",
            "Map it to a local folder under [locations] in localcdap.toml, and run the pipeline here.",
        )
    return StorageObjects(written, Path(place))
