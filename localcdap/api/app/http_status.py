"""The HTTP statuses of errors."""

from __future__ import annotations

from typing import Final

from localcdap.api.errors import (
    BadRequestError,
    ConflictError,
    HostError,
    IncapableError,
    InvalidPipelineError,
    InvalidStageError,
    MacroError,
    NotFoundError,
    OAuthError,
    PluginError,
    SchemaError,
    TransactionConflictError,
    TransactionTimeoutError,
    UnauthorizedError,
)

_STATUSES: Final[tuple[tuple[int, tuple[type[Exception], ...]], ...]] = (
    (403, (UnauthorizedError,)),
    (404, (NotFoundError,)),
    (409, (ConflictError, TransactionConflictError)),
    (
        400,
        (
            BadRequestError,
            SchemaError,
            MacroError,
            InvalidStageError,
            InvalidPipelineError,
            IncapableError,
            PluginError,
        ),
    ),
    (503, (HostError, TransactionTimeoutError)),
)


def find_http_status(error: BaseException) -> int:
    """Return the HTTP status of an error: 500 for an unexpected one.

    A plugin that fails is an error of the request that selected it: 400. An OAuth provider that gives no
    token has a status of its own.
    """
    if isinstance(error, OAuthError):
        return error.status
    return next((status for status, kinds in _STATUSES if isinstance(error, kinds)), 500)
