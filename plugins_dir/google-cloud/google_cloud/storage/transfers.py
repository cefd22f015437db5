"""The actions GCSCopy and GCSMove."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from localcdap.api import (
    Action,
    ActionContext,
    Capabilities,
    StageConfigurer,
    capability,
    field,
    plugin,
)

from ..account import WITHOUT_EFFECT, GoogleProjectConfig
from .paths import StorageObjects, check_storage_path, resolve_objects


class TransferConfig(GoogleProjectConfig, macros=True, rename="camel"):
    """The properties of the actions GCSCopy and GCSMove."""

    source: str = field(
        "Object or folder of Cloud Storage, or a pattern with '*': gs://bucket/reports/*.csv.",
        name="sourcePath",
        form="{path}",
    )
    target: str = field(
        "New path of the object or folder. If the path is an existing folder, ends with '/' or is a bucket, "
        "objects go into this folder. Missing folders are created.",
        name="destPath",
        form="{path}",
    )
    recursive: bool = field("Whether subfolders are included.", default=False)
    overwrite: bool = field(
        "Whether existing objects are replaced; otherwise they fail the run before anything is changed.",
        default=False,
    )
    location: str | None = field("Region of the bucket.", default=None, group=WITHOUT_EFFECT)
    cmek_key: str | None = field(
        "Key that encrypts a new bucket.", default=None, group=WITHOUT_EFFECT
    )
    read_timeout: int | None = field(
        "Seconds to wait for a response.", default=None, group=WITHOUT_EFFECT
    )


class _Transfer(Action):
    Config = TransferConfig
    config: TransferConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_storage_path(stage, config, "sourcePath", config.source)
        check_storage_path(stage, config, "destPath", config.target)
        if "*" in (config.target or "") and not config.contains_macro("destPath"):
            stage.failures.add(
                "Destination path should not contain wildcard characters.",
                "Remove the wildcard characters from the destination path.",
            ).with_config_property("destPath")

    def transfer(
        self, context: ActionContext, act: Callable[[Path, Path], object], done: str
    ) -> None:
        source = resolve_objects(context, self.config.source)
        target = resolve_objects(context, self.config.target)
        if not source.list_paths():
            raise context.fail(f"'{source.written}' does not exist.", "Check the path.")
        pairs = list(_list_transfers(source, target, recursive=self.config.recursive))
        taken = [to for _, to in pairs if to.exists()]
        if taken and not self.config.overwrite:
            raise context.fail(
                f"'{taken[0]}' already exists.", "Set 'overwrite' to true, or remove it first."
            )
        for file, to in pairs:
            try:
                to.parent.mkdir(parents=True, exist_ok=True)
                act(file, to)
            except OSError as error:
                raise context.fail(f"'{file}' cannot be {done} to '{to}': {error}.") from None
        context.logger.info("%d objects %s", len(pairs), done)


def _list_transfers(
    source: StorageObjects, target: StorageObjects, *, recursive: bool
) -> Iterator[tuple[Path, Path]]:
    """Yield each file to transfer, and its new path."""
    for found in source.list_paths():
        if source.is_pattern:
            base = target.place / found.name
        elif not target.name:
            base = target.place / source.name  # a bucket: the name in the bucket stays the same
        elif target.is_folder:
            base = target.place / found.name
        else:
            base = target.place
        if found.is_file():
            yield found, base
        else:
            inside = sorted(found.rglob("*") if recursive else found.iterdir())
            yield from ((f, base / f.relative_to(found)) for f in inside if f.is_file())


@plugin(
    name="GCSCopy",
    description="Local: copies files between local folders of buckets of Cloud Storage.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsCopy(_Transfer):
    def run(self, context: ActionContext) -> None:
        self.transfer(context, shutil.copy2, "copied")


@plugin(
    name="GCSMove",
    description="Local: moves files between local folders of buckets of Cloud Storage.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsMove(_Transfer):
    def run(self, context: ActionContext) -> None:
        self.transfer(context, shutil.move, "moved")
