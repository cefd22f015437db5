"""Rows of a table as run arguments."""

from __future__ import annotations

import base64
import datetime
import decimal
from typing import Any

from localcdap.api import ActionContext


def set_row_arguments(context: ActionContext, row: dict[str, Any]) -> None:
    """Set an argument for each column; skip nulls and nested values with a warning."""
    for name, value in row.items():
        text = format_argument_value(value)
        if text is None:
            kind = "null" if value is None else "nested"
            context.logger.warning("Column '%s' is %s and was not set as an argument.", name, kind)
        else:
            context.set_argument(name, text)


def format_argument_value(value: Any) -> str | None:
    """Format a value as BigQuery's clients do: timestamps are seconds since 1970.

    :returns: None for null and nested values.
    """
    match value:
        case None | list() | dict():
            return None
        case bool():
            return str(value).lower()
        case datetime.datetime() if value.tzinfo is not None:
            return f"{value.timestamp():.6f}".rstrip("0").rstrip(".")
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case decimal.Decimal():
            return f"{value.normalize():f}"
        case _:
            return str(value)
