"""The actions GCSBucketCreate and GCSBucketDelete, and the post action GCSDoneFileMarker."""

from __future__ import annotations

import shutil
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

from ..account import WITHOUT_EFFECT, GoogleProjectConfig
from .paths import check_storage_path, resolve_objects


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
