"""The properties of Wrangler, under the names that CDAP's has."""

from __future__ import annotations

from localcdap.api import NamedPlugins, PluginConfig, Schema, field

FAIL = "fail-pipeline"
SKIP = "skip-error"
SEND = "send-to-error-port"
DEFAULT_MODE = "wrangler.error.strategy.default"
"""Argument of a run: the mode of the stages that name none."""


class WranglerConfig(PluginConfig):
    input_field: str = field(
        description="The input field that is wrangled, or '*' for all fields.",
        default="*",
        macro=True,
        name="field",
    )
    precondition: str | None = field(
        description="A JEXL expression. Records for which it is true are left out.",
        default=None,
        macro=True,
        syntax="jexl",
    )
    precondition_sql: str | None = field(
        description="An SQL condition, instead of a recipe. Records for which it is false are left out.",
        default=None,
        macro=True,
        name="preconditionSQL",
        syntax="sql",
    )
    precondition_language: str | None = field(
        description="The language of the condition: JEXL or SQL.",
        default=None,
        choices=["JEXL", "SQL"],
        macro=True,
        name="preconditionLanguage",
    )
    expression_language: str | None = field(
        description="The older name of preconditionLanguage.",
        default=None,
        choices=["JEXL", "SQL"],
        macro=True,
        name="expressionLanguage",
    )
    directives: str = field(
        description="The recipe: one directive a line, or ended by semicolons.",
        default="",
        macro=True,
        syntax="wrangler",
        uses=NamedPlugins("directive", after="#pragma load-directives"),
    )
    udd: list[str] = field(
        description="The user-defined directives that the recipe uses.",
        default=[],
        form="{plugin:directive},",
    )
    schema: Schema | None = field(
        description=(
            "The schema of the output. Left out, it is what the recipe makes, as far as that can be "
            "known before the run."
        ),
        default=None,
        macro=True,
    )
    on_error: str | None = field(
        description=(
            "What becomes of a record for which a directive fails: the pipeline fails, the record is "
            "skipped, or it goes to the error port."
        ),
        default=None,
        choices=[FAIL, SKIP, SEND],
        macro=True,
        name="on-error",
    )
    threshold: str | None = field(
        description="Of older versions; has no effect.", default=None, macro=True
    )
    workspace_id: str | None = field(
        description="Where CDAP's studio keeps the sample; has no effect.",
        default=None,
        name="workspaceId",
    )

    @property
    def is_sql(self) -> bool:
        """Whether the condition is SQL, which goes without a recipe."""
        return (self.precondition_language or self.expression_language or "JEXL") == "SQL"
