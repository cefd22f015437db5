"""GCSBucketCreate, GCSBucketDelete and GCSDoneFileMarker."""

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

from ..account import WITHOUT_EFFECT, GoogleAccountConfig
from .paths import check_storage_path, resolve_objects


@plugin(
    type="action",
    name="GCSBucketCreate",
    description="Stand-in: makes buckets of Google Cloud Storage and folders in them, as folders here.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsBucketCreate(Action):
    class Config(GoogleAccountConfig):
        paths: list[str] = field("Buckets and folders to make, with commas between.", macro=True)
        fail_if_exists: bool = field(
            "Whether one that is there fails the run; what was made before it is removed again.",
            default=False,
            macro=True,
            name="failIfExists",
        )
        location: str | None = field(
            "Region of the buckets.", default=None, macro=True, group=WITHOUT_EFFECT
        )
        cmek_key: str | None = field(
            "Key that encrypts the buckets.",
            default=None,
            macro=True,
            name="cmekKey",
            group=WITHOUT_EFFECT,
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
        context.logger.info("%d folders made", len(made))

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
                raise context.fail(f"'{wanted.written}' cannot be made: {error}.") from None
            made.append(each)


@plugin(
    type="action",
    name="GCSBucketDelete",
    description="Stand-in: deletes objects of Google Cloud Storage from the folders that stand for buckets.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsBucketDelete(Action):
    class Config(GoogleAccountConfig):
        paths: list[str] = field(
            "Objects and folders to delete with all that is in them, with commas between; patterns with '*' "
            "too. What is not there is passed over.",
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
                except (
                    OSError
                ) as error:  # as the original: what cannot be deleted is told, and stays
                    context.logger.warning("'%s' cannot be deleted: %s", place, error)
        context.logger.info("%d objects deleted", count)


def _delete(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


@plugin(
    type="postaction",
    name="GCSDoneFileMarker",
    description="Stand-in: makes an empty file in the folder that stands for a bucket when a run has ended.",
)
@capability(Capabilities.Mode.NATIVE)
class GcsDoneFileMarker(PostAction):
    class Config(PostActionConfig, GoogleAccountConfig):
        path: str = field(
            "Path of the file: gs://bucket/folder/_SUCCESS. One that is there stays as it is.",
            macro=True,
        )
        location: str | None = field(
            "Region of the bucket.", default=None, macro=True, group=WITHOUT_EFFECT
        )
        cmek_key: str | None = field(
            "Key that encrypts the bucket.",
            default=None,
            macro=True,
            name="cmekKey",
            group=WITHOUT_EFFECT,
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        check_storage_path(stage, self.config, "path", self.config.path)

    def run(self, context: PostActionContext) -> None:
        place = resolve_objects(context, self.config.path).place
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
