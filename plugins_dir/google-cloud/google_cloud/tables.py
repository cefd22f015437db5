"""Tables of BigQuery and the tables of the instance that stand for them."""

from __future__ import annotations

import re
from typing import Final

from localcdap.api import PluginConfig, StageConfigurer

_DATASET: Final = re.compile(r"[A-Za-z0-9_]{1,1024}")
_TABLE: Final = re.compile(r"[\w\- ]{1,1024}")


def table_name(dataset: str, table: str) -> str:
    """The name of the table of this namespace that stands for one of BigQuery: ``dataset.table``.

    Projects are not told apart: a pipeline that names its project and one that leaves it to be detected mean
    the same table.
    """
    return f"{dataset.strip()}.{table.strip()}"


def check_table(
    stage: StageConfigurer, config: PluginConfig, dataset: str | None, table: str | None
) -> None:
    """Add failures for names that no dataset or table of BigQuery can have."""
    rules = (
        ("dataset", dataset, _DATASET, "letters, digits and '_'"),
        ("table", table, _TABLE, "letters, digits, '_', '-' and blanks"),
    )
    for name, value, allowed, shown in rules:
        known = value is not None and not config.contains_macro(name)
        if value is not None and known and allowed.fullmatch(value.strip()) is None:
            stage.failures.add(
                f"Invalid BigQuery {name} name '{value}'.", f"Use {shown}, at most 1024 characters."
            ).with_config_property(name)
