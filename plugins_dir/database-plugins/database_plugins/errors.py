"""What a database says when it cannot be reached or refuses, told as the failure of a stage."""

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
    def read_error_text(self, error: Exception) -> str: ...

    def fail(self, message: str, corrective_action: str | None = None) -> Exception: ...


def call_database(context: ErrorContext, url: str, ask: Callable[[], Any]) -> Any:
    """What a call that reaches the database gives.

    :param url: its connection string.
    :raises StageError: in the database's words when it fails.
    """
    from pyspark.errors import PySparkException

    try:
        return ask()
    except PySparkException as error:
        text = context.read_error_text(error)
    place, reason = _describe_server(url), _find_reason(text)
    if _DENIED.search(text):
        action = "Correct 'user' and 'password', or allow the user into the database at the server."
        raise context.fail(f"the database{place} does not let the user in: {reason}", action)
    if _UNREACHABLE.search(text):
        action = "Start the server there, or correct where it is: its host and port."
        raise context.fail(f"the database{place} cannot be reached: {reason}", action)
    raise context.fail(f"the database{place} refuses: {reason}")


def _describe_server(url: str) -> str:
    """Where the database is, without anything that may be secret; empty where there is no server."""
    found = _HOST.search(url)
    return f" at {found[1] or found[2]}" if found else ""


def _find_reason(text: str) -> str:
    """What the driver says, in the text of Spark's error with all its causes."""
    causes: list[tuple[str, str]] = _CAUSE.findall(text)
    messages = [message for name, message in causes if "SQL" in name] or [m for _, m in causes]
    failed = _FAILED_TASK.search(text)
    line = messages[-1] if messages else failed[1] if failed else text.strip().partition("\n")[0]
    return " ".join(_POSITION.sub("", line).split()).rstrip(".") + "."
