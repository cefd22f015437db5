"""The BigQueryArgumentSetter action."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from localcdap.api import (
    Action,
    ActionContext,
    Capabilities,
    StageConfigurer,
    capability,
    field,
    plugin,
)
from localcdap.api.rules import check_reference_name
from localcdap.api.sql_names import quote_identifier, quote_literal

from ..account import BigQueryProjectConfig
from .row_arguments import set_row_arguments
from .tables import check_table, get_table_name

_CONDITIONS: Final = "argumentSelectionConditions"


@plugin(
    name="BigQueryArgumentSetter",
    description="Local: sets arguments of the run from the one row of a table that conditions select.",
)
@capability(Capabilities.Mode.NATIVE)
class BigQueryArgumentSetter(Action):
    class Config(BigQueryProjectConfig, macros=True):
        dataset: str = field("Dataset of the table.")
        table: str = field("Table with the arguments, one column for each.")
        conditions: str = field(
            "Columns and values that select the row, as feed=marketing;date=20200427. Exactly one row must "
            "match.",
            name=_CONDITIONS,
        )
        columns: list[str] = field(
            "Columns that become arguments, comma-separated.", name="argumentsColumns"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        check_reference_name(stage, config.reference_name)
        check_table(stage, config, config.dataset, config.table)
        if config.contains_macro(_CONDITIONS):
            return
        try:
            list(_parse_conditions(config.conditions or ""))
        except ValueError as error:
            stage.failures.add(
                str(error), "Write column=value; separate several with semicolons."
            ).with_config_property(_CONDITIONS)

    def run(self, context: ActionContext) -> None:
        config = self.config
        name = get_table_name(config.dataset, config.table)
        columns = ", ".join(quote_identifier(column) for column in config.columns)
        # DuckDB casts the text to the column's type.
        where = " AND ".join(
            f"{quote_identifier(c)} = {quote_literal(v)}"
            for c, v in _parse_conditions(config.conditions)
        )
        found = context.run_sql([f"SELECT {columns} FROM {quote_identifier(name)} WHERE {where}"])  # noqa: S608
        if found.rows != 1 or found.first is None:
            raise context.fail(
                f"{found.rows} rows of table '{name}' match {config.conditions}; exactly one must.",
                f"Change '{_CONDITIONS}', or the table.",
            )
        set_row_arguments(context, found.first)


def _parse_conditions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the columns and values of the conditions.

    :raises ValueError: when there are no conditions, or one is invalid.
    """
    pairs = [part for part in text.split(";") if part.strip()]
    if not pairs:
        raise ValueError("Arguments Selection Conditions is empty.")
    for pair in pairs:
        column, equals, value = pair.partition("=")
        if not equals or not column.strip():
            raise ValueError(f"'{pair.strip()}' is not a condition.")
        yield column.strip(), value.strip()
