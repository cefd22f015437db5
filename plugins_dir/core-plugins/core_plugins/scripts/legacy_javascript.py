"""The JavaScript transforms of CDAP 3 to 5, whose functions return something."""

from __future__ import annotations

from typing import Final

from localcdap.api import PluginConfig, Schema, field, plugin

from .javascript import JavaScript, ScriptTransform
from .lookups import DESCRIPTION

_RETURNING: Final = """
;transform = (returning =>
  (input, emitter, context) => emitter.emit(returning(input, context)))(transform);"""
"""Behind the script, whose lines keep their numbers."""
_FILTERING: Final = """
;transform = (input, emitter, context) => {
  const given = {...input}, answer = shouldFilter(input, context);
  if (typeof answer !== 'boolean')
    throw new TypeError('shouldFilter must return true or false, not ' + answer);
  if (!answer) emitter.emit(given);
};"""


@plugin(
    type="transform",
    name="Script",
    description="Runs a JavaScript function on each record, which returns the record that takes its place.",
)
class Script(JavaScript):
    """Older than :class:`JavaScript`, and run as it is."""

    one_to_one = True
    usage = "transform(input, context)"

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

    def build_script(self) -> str:
        return self.config.script + _RETURNING


@plugin(
    type="transform",
    name="ScriptFilter",
    description="Leaves out the records for which a JavaScript function is true.",
)
class ScriptFilter(ScriptTransform):
    """The others stay as they are, whatever the function does to them."""

    usage = "shouldFilter(input, context)"

    class Config(PluginConfig):
        script: str = field(
            description=(
                "The script. It must define 'function shouldFilter(input, context)', which returns true for "
                "records to leave out and false for others. The context is that of the transform JavaScript."
            ),
            syntax="javascript",
        )
        lookup: str | None = field(description=DESCRIPTION, default=None, syntax="json")

    config: Config

    def build_script(self) -> str:
        return self.config.script + _FILTERING
