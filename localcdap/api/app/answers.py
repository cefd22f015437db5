"""Answers of services that are errors with a body of their own."""

from __future__ import annotations

from typing import Any, Final

from localcdap.api.errors import LocalcdapError


class AnswerError(LocalcdapError):
    """Ends a request with a status and a body, where the body of other errors is not enough.

    :param status: the HTTP status, such as 400.
    :param body: a value that JSON can represent, or a Struct.
    """

    def __init__(
        self, status: int, body: Any, message: str = "The request cannot be answered."
    ) -> None:
        super().__init__(message)
        self.status: Final = status
        self.body: Final = body
