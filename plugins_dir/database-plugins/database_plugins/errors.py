"""Errors of databases as failures of a stage."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Protocol

_CAUSE: Final = re.compile(
    r"^(?:Caused by: )?((?:\w+\.)+[\w$]+): (.+?)(?=\n\s+at |\n\t|\nCaused by|\Z)",
    re.MULTILINE | re.DOTALL,
)
_FAILED_TASK: Final = re.compile(r"executor [\w.-]+\): (?:[\w.$]+: )?(.*)")
_POSITION: Final = re.compile(r"\s+Position: \d+$")
_HOST: Final = re.compile(r"//(?:[^/@]*@)?([^/?;&]+)|cloudSqlInstance=([^&;]+)")
_UNREACHABLE: Final = re.compile(
    r"java\.net\.\w+Exception|Communications link failure|connection attempt failed"
)
_DENIED: Final = re.compile(
    r"authentication failed|Access denied for user|no pg_hba\.conf entry|role \".*\" does not exist"
    r"|no password was provided|InvalidAuthorization"
)


class ErrorContext(Protocol):
    """The parts of a stage context that error handling uses."""

    def read_error_text(self, error: Exception) -> str: ...

    def fail(self, message: str, corrective_action: str | None = None) -> Exception: ...


def call_database(context: ErrorContext, url: str, ask: Callable[[], Any]) -> Any:
    """Call a function that accesses the database, and return its result.

    :param url: the connection string.
    :raises StageError: with the message of the database when the call fails.
    """
    from pyspark.errors import PySparkException

    try:
        return ask()
    except PySparkException as error:
        text = context.read_error_text(error)
    server, reason = _describe_server(url), _find_reason(text)
    if _DENIED.search(text):
        action = "Correct 'user' and 'password', or grant the user access to the database."
        raise context.fail(f"the database{server} denies access: {reason}", action)
    if _UNREACHABLE.search(text):
        action = "Start the server, or correct its host and port."
        raise context.fail(f"the database{server} cannot be reached: {reason}", action)
    raise context.fail(f"the database{server} reports an error: {reason}")


def _describe_server(url: str) -> str:
    """Return the server of a connection string, without secrets, for a message; empty if there is none."""
    found = _HOST.search(url)
    return f" at {found[1] or found[2]}" if found else ""


def _find_reason(text: str) -> str:
    """Return the driver's message in the text of Spark's error with its causes."""
    causes: list[tuple[str, str]] = _CAUSE.findall(text)
    messages = [message for name, message in causes if "SQL" in name] or [m for _, m in causes]
    failed = _FAILED_TASK.search(text)
    line = messages[-1] if messages else failed[1] if failed else text.strip().partition("\n")[0]
    return " ".join(_POSITION.sub("", line).split()).rstrip(".") + "."
