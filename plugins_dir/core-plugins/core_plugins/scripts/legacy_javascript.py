"""The transforms Script, ScriptFilter and Validator of CDAP 3 to 6.0, whose functions return a result."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Final

import msgspec

from localcdap.api import PluginConfig, Schema, StageConfigurer, field, plugin
from localcdap.plugin_lib.jexl.functions.data_quality import CARDS, list_top_levels

from .javascript import JavaScript, ScriptTransform
from .javascript_lookups import DESCRIPTION

_RETURNING: Final = """
;transform = (returning =>
  (input, emitter, context) => emitter.emit(returning(input, context)))(transform);"""
"""Appended to the script, so that its line numbers stay the same."""
_FILTERING: Final = """
;transform = (input, emitter, context, same) => {
  const answer = shouldFilter(input, context);
  if (typeof answer !== 'boolean')
    throw new TypeError('shouldFilter must return true or false, not ' + answer);
  if (!answer) same.emit();
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


_CORE: Final = "core"
_ACCEPTED_CARDS: Final = ("isAmex", "isVisa", "isMaster", "isDiscover")
"""The cards that commons-validator's CreditCardValidator accepts by default."""
_CHECKING: Final = """
;transform = (coreValidator => {
  globalThis.coreValidator = coreValidator;
  return (input, emitter, context, same) => {
    const getValidator = name => name === 'coreValidator' ? coreValidator : null;
    const result = isValid(input, {...context, getValidator});
    if (result === null || typeof result !== 'object' || !('isValid' in result))
      throw new Error("Result map returned by isValid function did not contain an entry for 'isValid'");
    if (typeof result.isValid !== 'boolean')
      throw new TypeError("the entry 'isValid' must be true or false, not " + result.isValid);
    if (result.isValid) { same.emit(); return; }
    if (typeof result.errorCode !== 'number')
      throw new TypeError("errorCode entry in resultMap is not a valid number. "
        + "please check your script to make sure error-code is a number");
    context.getMetrics().count('invalid', 1);
    same.emitError(Math.trunc(result.errorCode), String(result.errorMsg ?? ''));
  };
})("""
"""Appended to the script, so that its line numbers stay the same."""


@plugin(
    name="Validator",
    description="Runs a JavaScript function on each record; those that are not valid become error records.",
)
class Validator(ScriptTransform):
    """Properties and failures are those of CDAP's plugin (hydrator-plugins before 2.3,
    ``io/cdap/plugin/transform/ValidatorTransform.java``, ``validator/CoreValidator.java``).

    Its validators are plugins of their own; the only one that CDAP brings is built in. Names of domains with
    letters beyond ASCII are not valid here, and the regular expressions of ``matchRegex`` are JavaScript's.
    """

    usage = "isValid(input, context)"
    script_property = "validationScript"

    class Config(PluginConfig):
        validators: list[str] = field(
            "The validators that the script uses, comma-separated. There is one, 'core', which the script "
            "gets with context.getValidator('coreValidator'). It has isDate (as 12/31/26), isCreditCard, "
            "isBlankOrNull, isEmail, isInRange(value, min, max), isInt, isLong, isShort, isUrl, "
            "matchRegex(pattern, text), maxLength(text, n), minLength, maxValue(value, n), minValue, "
            "isValidISBN, isValidIp, isValidInet4Address, isValidInet6Address, isValidTId (a top-level "
            "domain), isValidCountryCodeTid, isValidGenericTId, isValidInfrastructureTId and "
            "isValidLocalTId."
        )
        script: str = field(
            "Script that defines 'function isValid(input, context)', which returns {isValid: true}, or "
            "{isValid: false, errorCode: 10, errorMsg: 'why'}. The context is that of the transform "
            "JavaScript.",
            name="validationScript",
            syntax="javascript",
        )
        lookup: str | None = field(DESCRIPTION, default=None, syntax="json")

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        super().configure(stage)
        for name in self.config.validators or ():
            if name != _CORE:
                stage.failures.add(
                    f"No validator plugin named {name} could be found.", f"There is only '{_CORE}'."
                ).with_config_property("validators", element=name)

    def build_script(self) -> str:
        return f"{self.config.script}{_CHECKING}{build_core_validator()});"


@functools.cache
def build_core_validator() -> str:
    """Return a JavaScript expression: an object with the functions of the validator ``core``."""
    library = resources.files(__package__).joinpath("core_validator.js").read_text("utf-8")
    given = (sorted(list_top_levels()), [CARDS[name] for name in _ACCEPTED_CARDS])
    return f"({library})({', '.join(msgspec.json.encode(each).decode() for each in given)})"
