"""The properties of Wrangler, with the names of CDAP's properties."""

from __future__ import annotations

from collections.abc import Mapping

from localcdap.api import NamedPlugins, PluginConfig, Schema, field

FAIL = "fail-pipeline"
SKIP = "skip-error"
SEND = "send-to-error-port"
FAILS_FOR_ERRORS = "feature.wrangler.fail.pipeline.for.error.enabled"
"""The runtime argument, or preference, that says whether error records fail a run in the mode
``fail-pipeline``: the feature flag of CDAP 6.8 and later."""
DEFAULT_MODE = "wrangler.error.strategy.default"
"""The runtime argument with the mode of stages that set none."""


def fails_for_errors(arguments: Mapping[str, str]) -> bool:
    """Return whether records that ``send-to-error`` selects fail a run, also if a stage collects them.

    They do not by default: ``cdap-default.xml`` of CDAP 6.8 to 6.11 sets the flag to false, and CDAP before
    6.8 has neither the flag nor the failure. ``Wrangler.java`` does not ask whether a stage collects the
    records.
    """
    return arguments.get(FAILS_FOR_ERRORS, "").strip().lower() == "true"


class WranglerConfig(PluginConfig, macros=True, rename="camel"):
    input_field: str = field(
        "The input field that is wrangled, or '*' for all fields.", default="*", name="field"
    )
    precondition: str | None = field(
        "A JEXL expression. Records for which it is true are dropped.", default=None, syntax="jexl"
    )
    precondition_sql: str | None = field(
        "An SQL condition, instead of a recipe. Records for which it is false are dropped.",
        default=None,
        name="preconditionSQL",
        syntax="sql",
    )
    precondition_language: str | None = field(
        "The language of the condition: JEXL or SQL.", default=None, choices=["JEXL", "SQL"]
    )
    expression_language: str | None = field(
        "Another name of preconditionLanguage, which goes first.",
        default=None,
        choices=["JEXL", "SQL"],
    )
    directives: str = field(
        "The recipe: one directive a line, or ended by semicolons.",
        default="",
        syntax="wrangler",
        uses=NamedPlugins("directive", after="#pragma load-directives"),
    )
    udd: list[str] = field(
        "The user-defined directives that the recipe uses.",
        default=[],
        form="{plugin:directive},",
        macro=False,
    )
    schema: Schema | None = field(
        "The schema of the output. By default the schema that the recipe makes, as far as it is known "
        "before the run.",
        default=None,
    )
    on_error: str | None = field(
        "What happens to a record for which a directive fails: the pipeline fails, the record is "
        "skipped, or it goes to the error port.",
        default=None,
        choices=[FAIL, SKIP, SEND],
        name="on-error",
    )
    threshold: str | None = field("A property of older versions; has no effect.", default=None)
    workspace_id: str | None = field(
        "The place of the sample in CDAP's studio; has no effect.", default=None, macro=False
    )

    @property
    def is_sql(self) -> bool:
        """Whether the condition is SQL, which excludes a recipe."""
        return (self.precondition_language or self.expression_language or "JEXL") == "SQL"
