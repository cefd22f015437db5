"""The transforms Script and ScriptFilter of CDAP 3 to 5, whose functions return a result."""

from __future__ import annotations

from typing import Final

from localcdap.api import PluginConfig, Schema, field, plugin

from .javascript import JavaScript, ScriptTransform
from .lookups import DESCRIPTION

_RETURNING: Final = """
;transform = (returning =>
  (input, emitter, context) => emitter.emit(returning(input, context)))(transform);"""
"""Appended to the script, so that its line numbers stay the same."""
_FILTERING: Final = """
;transform = (input, emitter, context) => {
  const given = {...input}, answer = shouldFilter(input, context);
  if (typeof answer !== 'boolean')
    throw new TypeError('shouldFilter must return true or false, not ' + answer);
  if (!answer) emitter.emit(given);
};"""


@plugin(
    name="Script",
    description="Runs a JavaScript function on each record, which returns the output record.",
)
class Script(JavaScript):
    """The predecessor of :class:`JavaScript`, run in the same way."""

    one_to_one = True
    usage = "transform(input, context)"

    class Config(JavaScript.Config):
        script: str = field(
            "Script that defines 'function transform(input, context)', which returns an object with "
            "the fields of the output. The context is that of the transform JavaScript.",
            syntax="javascript",
        )
        schema: Schema | None = field(
            "The output schema. If empty, it is the input schema.", default=None
        )

    config: Config

    def build_script(self) -> str:
        return self.config.script + _RETURNING


@plugin(
    name="ScriptFilter",
    description="Drops the records for which a JavaScript function returns true.",
)
class ScriptFilter(ScriptTransform):
    """The other records are emitted unchanged, even if the function changes its input."""

    usage = "shouldFilter(input, context)"

    class Config(PluginConfig):
        script: str = field(
            "Script that defines 'function shouldFilter(input, context)', which returns true for "
            "records to drop and false for others. The context is that of the transform JavaScript.",
            syntax="javascript",
        )
        lookup: str | None = field(DESCRIPTION, default=None, syntax="json")

    config: Config

    def build_script(self) -> str:
        return self.config.script + _FILTERING
