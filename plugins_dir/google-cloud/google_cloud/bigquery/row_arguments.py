"""Rows of BigQuery as arguments of a run."""

from __future__ import annotations

import base64
import datetime
import decimal
from typing import Any

from localcdap.api import ActionContext


def set_row_arguments(context: ActionContext, row: dict[str, Any]) -> None:
    """Set an argument for each column. Nested values and nulls are told, and left out."""
    for name, value in row.items():
        text = format_value(value)
        if text is None:
            kind = "null" if value is None else "nested"
            context.logger.warning("Column '%s' is %s and not made an argument.", name, kind)
        else:
            context.set_argument(name, text)


def format_value(value: Any) -> str | None:
    """A value as BigQuery's own clients give it as a text: timestamps are seconds since 1970.

    :returns: None for null and what is nested.
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
