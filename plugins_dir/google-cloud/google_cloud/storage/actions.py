"""The actions on Cloud Storage: GCSBucketCreate, GCSBucketDelete, GCSCopy, GCSMove and GCSArgumentSetter."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from localcdap.api import (
    Action,
    ActionContext,
    Capabilities,
    PostAction,
    PostActionConfig,
    PostActionContext,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.plugin_lib.arguments import set_arguments

from ..account import WITHOUT_EFFECT, GoogleProjectConfig
from .files import StorageObjects, check_storage_path, resolve_objects


@plugin(
    name="GCSBucketCreate",
    description="Local: creates local folders of buckets of Cloud Storage, and subfolders.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsBucketCreate(Action):
    class Config(GoogleProjectConfig, macros=True, rename="camel"):
        paths: list[str] = field("Buckets and folders to create, comma-separated.")
        fail_if_exists: bool = field(
            "Whether an existing one fails the run; folders created before it are then removed.",
            default=False,
        )
        location: str | None = field("Region of the buckets.", default=None, group=WITHOUT_EFFECT)
        cmek_key: str | None = field(
            "Key that encrypts the buckets.", default=None, group=WITHOUT_EFFECT
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        for path in self.config.paths or []:
            check_storage_path(stage, self.config, "paths", path)

    def run(self, context: ActionContext) -> None:
        made: list[Path] = []
        try:
            for path in self.config.paths:
                self._make(context, path, made)
        except BaseException:
            for place in reversed(made):
                place.rmdir()
            raise
        context.logger.info("Created %d folders", len(made))

    def _make(self, context: ActionContext, path: str, made: list[Path]) -> None:
        wanted = resolve_objects(context, path)
        place = wanted.place
        if place.exists():
            if self.config.fail_if_exists:
                raise context.fail(
                    f"'{wanted.written}' already exists.", "Set 'failIfExists' to false."
                )
            return
        missing = [place, *(each for each in place.parents if not each.exists())]
        for each in reversed(missing):
            try:
                each.mkdir()
            except OSError as error:
                raise context.fail(f"'{wanted.written}' cannot be created: {error}.") from None
            made.append(each)


@plugin(
    name="GCSBucketDelete",
    description="Local: deletes files from the local folders of buckets of Cloud Storage.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsBucketDelete(Action):
    class Config(GoogleProjectConfig):
        paths: list[str] = field(
            "Objects and folders to delete with their contents, comma-separated; '*' matches any characters. "
            "Missing ones are skipped.",
            macro=True,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        for path in self.config.paths or []:
            check_storage_path(stage, self.config, "paths", path)

    def run(self, context: ActionContext) -> None:
        count = 0
        for path in self.config.paths:
            for place in resolve_objects(context, path).list_paths():
                try:
                    _delete(place)
                    count += 1
                except OSError as error:  # as in CDAP, this is only logged
                    context.logger.warning("'%s' cannot be deleted: %s", place, error)
        context.logger.info("Deleted %d objects", count)


def _delete(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


@plugin(
    name="GCSDoneFileMarker",
    description="Local: creates an empty file in a bucket's local folder when a run has ended.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsDoneFileMarker(PostAction):
    class Config(PostActionConfig, GoogleProjectConfig, macros=True):
        path: str = field(
            "Path of the file: gs://bucket/folder/_SUCCESS. An existing file is not changed.",
            form="{path}",
        )
        location: str | None = field("Region of the bucket.", default=None, group=WITHOUT_EFFECT)
        cmek_key: str | None = field(
            "Key that encrypts the bucket.", default=None, name="cmekKey", group=WITHOUT_EFFECT
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_storage_path(stage, self.config, "path", self.config.path)

    def run(self, context: PostActionContext) -> None:
        place = resolve_objects(context, self.config.path).place
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()


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


@plugin(
    name="GCSArgumentSetter",
    description="Local: sets arguments of the run from a JSON file in a bucket's folder.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsArgumentSetter(Action):
    class Config(GoogleProjectConfig):
        reference_name: str | None = field(
            "Name of this action in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
            default=None,
            name="referenceName",
        )
        path: str = field(
            'File of the form {"arguments": [{"name": "in", "type": "string", "value": "x"}]}. Types are '
            "string, int, short, float, double, char, array, map and schema.",
            macro=True,
            form="{path}",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_reference_name(stage, self.config.reference_name)
        check_storage_path(stage, self.config, "path", self.config.path)

    def run(self, context: ActionContext) -> None:
        file = resolve_objects(context, self.config.path)
        try:
            text = file.place.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise context.fail(f"'{file.written}' cannot be read as JSON: {error}.") from None
        set_arguments(context, text, file.written)
