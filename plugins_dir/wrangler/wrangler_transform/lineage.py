"""The field lineage of the stage."""

from __future__ import annotations

import re

from localcdap.api import EdgeKind, LineageRecorder
from localcdap.plugin_lib.wrangler.recipe.builder import load_precondition, load_recipe
from localcdap.plugin_lib.wrangler.recipe.lineage import RecipeLineage
from localcdap.plugin_lib.wrangler.recipe.propagation import to_columns

from .config import FAIL, WranglerConfig
from .configuration import WHOLE_RECORD, find_row_schema

_SQL_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'")
_SQL_NAME = re.compile(r"`([^`]+)`|([A-Za-z_]\w*)")


def record_recipe(config: WranglerConfig, lineage: LineageRecorder) -> None:
    """Record the lineage of a recipe, or of the SQL precondition that stands in its place."""
    stage = lineage.stage
    if config.is_sql:
        lineage.influence(
            EdgeKind.FILTER, _list_sql_columns(config.precondition_sql or "", lineage)
        )
        return
    row_schema = find_row_schema(config.input_field, stage.input_schema)
    if row_schema is None or stage.output_schema is None or config.contains_macro("field"):
        lineage.derive(lineage.outputs, lineage.input_fields, "Transform")
        return
    is_record = config.input_field == WHOLE_RECORD
    followed = RecipeLineage(
        lineage,
        to_columns(row_schema, stage.find_table),
        {name: lineage.input_fields if is_record else [name] for name in row_schema.field_names},
        drops_failing=config.on_error not in (None, FAIL),
    )
    precondition = (config.precondition or "").strip()
    if precondition not in ("", "false") and not config.contains_macro("precondition"):
        followed.follow(load_precondition(precondition).steps)
    text = config.text_with_macros("directives") or config.directives
    followed.follow(load_recipe(text, config.udd, stage.find_plugin).steps)
    followed.finish(stage.output_schema)


def _list_sql_columns(sql: str, lineage: LineageRecorder) -> list[str]:
    """Return the input fields whose names are in an SQL expression, outside of its texts."""
    found = _SQL_NAME.findall(_SQL_TEXT.sub("", sql))
    names = {(quoted or plain).lower() for quoted, plain in found}
    return [name for name in lineage.input_fields if name.lower() in names]
