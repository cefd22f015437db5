"""The Script transform of CDAP 3 to 5: a JavaScript function that returns the record."""

from __future__ import annotations

from typing import Final

from localcdap.api import Schema, field, plugin

from .javascript import JavaScript

_ADAPTER: Final = """
;transform = (returning =>
  (input, emitter, context) => emitter.emit(returning(input, context)))(transform);"""
"""Behind the script, whose lines keep their numbers."""


@plugin(
    type="transform",
    name="Script",
    description="Runs a JavaScript function on each record, which returns the record that takes its place.",
)
class Script(JavaScript):
    """Older than :class:`JavaScript`, and run as it is."""

    one_to_one = True

    class Config(JavaScript.Config):
        script: str = field(
            description=(
                "The script. It must define 'function transform(input, context)', which returns an object "
                "with the fields of the output. The context is that of the transform JavaScript."
            ),
            syntax="javascript",
        )
        schema: Schema | None = field(
            description="The output schema. Left empty, it is the input schema.", default=None
        )

    config: Config

    def source(self) -> str:
        return self.config.script + _ADAPTER
