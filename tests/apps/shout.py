"""A user's plugin."""

from __future__ import annotations

from localcdap.api import Emitter, PluginConfig, Record, Transform, field, plugin


@plugin(type="transform", name="Shout", description="Puts words in capitals.")
class Shout(Transform):
    class Config(PluginConfig):
        mark: str = field("What stands behind.", macro=True)

    config: Config

    def transform(self, record: Record, emit: Emitter) -> None:
        emit({"word": record["word"].upper() + self.config.mark})

    def describe(self, number: int) -> list[object]:
        return [self.config.mark, number]
