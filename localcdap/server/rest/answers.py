"""What routes answer, and the status codes and texts of errors.

As the original, an error is a plain text. No answer has another code than 200 when a request succeeded: the
clients of Airflow take 201 and 204 for errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from localcdap.api.app.routes import find_http_status
from localcdap.api.errors import (
    BadRequestError,
    ConflictError,
    HostError,
    InvalidPipelineError,
    LocalcdapError,
    NotFoundError,
    UnauthorizedError,
)
from localcdap.api.serialization.value_types import encode_schema

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"
BYTES: Final = "application/octet-stream"


_OF_ORIGINAL: Final = (BadRequestError, ConflictError, NotFoundError, UnauthorizedError)
"""Errors that the original has too. Their advice names commands of localcdap, which no client can call."""


class RestError(Exception):
    """An answer other than success, with the code and the text of the original."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status: Final = status
        self.text: Final = text


class Answer(msgspec.Struct):
    """What is sent to the client."""

    body: bytes | Iterator[bytes] = b""
    """The whole body, or its parts, which are sent while they are made."""
    content_type: str = JSON
    status: int = 200


DONE: Final = Answer(content_type=TEXT)
"""Success without a body."""


def encode(value: Any) -> bytes:
    """Return a value of plain types and Structs as JSON."""
    return msgspec.json.encode(value, enc_hook=encode_schema)


def send_json(value: Any, status: int = 200) -> Answer:
    """Return an answer with a value of plain types and Structs."""
    return Answer(encode(value), JSON, status)


def send_text(text: str, status: int = 200) -> Answer:
    """Return an answer with a text."""
    return Answer(text.encode("utf-8", "replace"), TEXT, status)


def send_list(pages: Iterable[Iterable[Any]]) -> Answer:
    """Return an answer with one JSON list of the values of all pages, each sent when it is ready."""
    return Answer(_join(pages), JSON)


def _join(pages: Iterable[Iterable[Any]]) -> Iterator[bytes]:
    first = True
    yield b"["
    for page in pages:
        texts = [encode(each) for each in page]
        if texts:
            yield (b"" if first else b",") + b",".join(texts)
            first = False
    yield b"]"


def to_answer(error: Exception) -> Answer | None:
    """Return the answer for an error of a route or a service; None for a fault of localcdap."""
    if isinstance(error, RestError):
        return send_text(error.text, error.status)
    if isinstance(error, LocalcdapError):
        return send_text(describe(error), find_status(error))
    return None


def describe(error: LocalcdapError) -> str:
    """Return the text of an error: that of the original where there is one, without the advice for terminals.

    An invalid pipeline has a line for each failure.
    """
    if isinstance(error, InvalidPipelineError) and error.failures:
        return "\n".join((error.message, *map(_describe_failure, error.failures)))
    if isinstance(error, NotFoundError) and error.entity is not None:
        return f"'{error.entity}' was not found."  # CDAP 6 ``NotFoundException``
    return error.message if isinstance(error, _OF_ORIGINAL) else error.full_message


@contextmanager
def name_missing(text: str) -> Iterator[None]:
    """Give the error of a block that finds nothing the text of the original.

    :raises RestError: in place of a NotFoundError (404).
    """
    try:
        yield
    except NotFoundError:
        raise RestError(404, text) from None


def _describe_failure(failure: Mapping[str, Any]) -> str:
    where = f"Stage '{failure['stage']}' encountered : " if failure.get("stage") else ""
    return " ".join(
        filter(None, (f"{where}{failure.get('message')}", failure.get("correctiveAction")))
    )


def find_status(error: LocalcdapError) -> int:
    """Return the status code of an error; 500 for a fault of the host."""
    is_fault = isinstance(error, HostError) and bool(error.traceback)
    return 500 if is_fault else find_http_status(error)
