"""The answers that many routes give (wrangler ``proto.workspace.v2.ServiceResponse``)."""

from __future__ import annotations

from typing import Any

import msgspec

from localcdap.api.app import AnswerError


class ServiceResponse(msgspec.Struct):
    """An answer with a list of values."""

    values: list[Any]
    count: int
    message: str = "Success"


def respond(values: list[Any]) -> ServiceResponse:
    """Return an answer with values."""
    return ServiceResponse(values, len(values))


def refuse_recipe(message: str, row: int, directive: int) -> AnswerError:
    """Return the error for a directive that fails at a row.

    :param row: the index of the row, from 0.
    :param directive: the number of the directive, from 1.
    """
    body = {"message": message, "values": [], "rowIndex": row, "directiveIndex": directive}
    return AnswerError(400, body, message)


def refuse_rows(message: str, errors: list[Any]) -> AnswerError:
    """Return the error for rows that a recipe has sent to the errors, and for which it fails.

    :param errors: with ``message`` and ``code``.
    """
    values = [
        {"message": each["message"], "code": each["code"], "showInWrangler": True}
        for each in errors
    ]
    return AnswerError(400, {"message": message, "count": len(values), "values": values}, message)
