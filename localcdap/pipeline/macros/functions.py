"""The macro functions of batch pipelines: ``logicalStartTime``, ``secure``, ``oauth`` …, ``conn``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from localcdap.api.errors import BadRequestError, MacroError
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.java.dates.zones import parse_zone
from localcdap.java.numbers import NumberFormatError, parse_long
from localcdap.java.unix_time import from_epoch_millis
from localcdap.pipeline.document.values import encode_json
from localcdap.pipeline.macros.parser import Function

LOGICAL_START_TIME: Final = "logical.start.time"
"""The runtime argument with the logical start time of a run, in milliseconds since 1970 (CDAP 6
``ProgramOptionConstants``). Runs without it get their own."""
SECRET_FUNCTIONS: Final = frozenset(("secure", "oauth", "conn"))
"""The functions that validation evaluates too (CDAP 6 ``ValidationHandler``)."""
_OFFSET: Final = re.compile(r"([+-]?)(\d+)([dhms])")
_UNIT_MS: Final = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000}
_FORMAT: Final = (
    "Write it as logicalStartTime(yyyy-MM-dd,1d-4h+30m,UTC); all three may be left out."
)

SecureStore = Callable[[str], str]
"""Returns the value of a secure key of the pipeline's namespace."""
Credentials = Callable[[str, str], Mapping[str, str]]
"""Returns the token of an OAuth provider and credential, as ``accessToken`` and ``instanceURL``."""
Connections = Callable[[str], Mapping[str, str]]
"""Returns the plugin properties of a named connection.

Every provider raises :class:`localcdap.api.errors.LocalcdapError` for an unknown name."""


def create_macro_functions(
    logical_start_ms: int | None = None,
    secure: SecureStore | None = None,
    oauth: Credentials | None = None,
    conn: Connections | None = None,
) -> dict[str, Function]:
    """Return the functions by name; one without a provider raises a MacroError when it is called.

    :param logical_start_ms: the logical start time of the run, in milliseconds since 1970; None before a
        run, where ``logicalStartTime`` is not evaluated.
    """
    functions: dict[str, Function] = {
        "secure": _create_text_function("secure", 1, secure, "the secure store"),
        "oauth": _create_map_function("oauth", 2, oauth, "OAuth credentials"),
        "oauthAccessToken": _create_token_function(oauth),
        "conn": _create_map_function("conn", 1, conn, "named connections"),
    }
    if logical_start_ms is not None:
        functions["logicalStartTime"] = lambda *given: evaluate_logical_start_time(
            logical_start_ms, *given
        )
    return functions


def resolve_logical_start(
    arguments: Mapping[str, str], default_ms: int
) -> tuple[dict[str, str], int]:
    """Return the arguments of a run with its logical start time, and this time in milliseconds since 1970.

    The argument ``logical.start.time`` says the time; without it, or with an empty one, the time is
    ``default_ms`` (CDAP 6 ``ProgramRunners.updateLogicalStartTime``).

    :raises BadRequestError: when the argument is not a whole number, or not a time in the years 1 to 9999.
    """
    text = arguments.get(LOGICAL_START_TIME) or str(default_ms)
    try:
        start_ms = parse_long(text)
        from_epoch_millis(start_ms)
    except (NumberFormatError, OverflowError):
        raise BadRequestError(
            f"The argument '{LOGICAL_START_TIME}' is '{text}', which is not a time in milliseconds "
            "since 1970.",
            f"Write a number, such as {LOGICAL_START_TIME}=1577836800000 for 2020-01-01 in UTC.",
        ) from None
    return {**arguments, LOGICAL_START_TIME: str(start_ms)}, start_ms


def _create_text_function(
    name: str, count: int, provider: Callable[..., str] | None, what: str
) -> Function:
    def function(*arguments: str) -> str:
        if provider is None:
            raise MacroError(
                f"Macro function '{name}' cannot be used: {what} is not available here.",
                "Write the value itself, or use an argument and give it with -a NAME=VALUE.",
            )
        if len(arguments) != count:
            raise MacroError(
                f"Macro function '{name}' takes {count} argument(s), not {len(arguments)}.",
                f"Write it as {name}({'provider,credential' if count == 2 else 'name'}).",
            )
        return provider(*(argument.strip() for argument in arguments))

    return function


def _create_map_function(
    name: str, count: int, provider: Callable[..., Mapping[str, str]] | None, what: str
) -> Function:
    """Return a function whose value is a JSON object."""
    if provider is None:
        return _create_text_function(name, count, None, what)
    return _create_text_function(
        name, count, lambda *given: encode_json(dict(provider(*given))), what
    )


def _create_token_function(oauth: Credentials | None) -> Function:
    """Return a function whose value is the access token alone (CDAP 6 ``OAuthAccessTokenMacroEvaluator``)."""

    def get(provider: str, credential: str) -> str:
        assert oauth is not None
        return oauth(provider, credential)["accessToken"]

    given = None if oauth is None else get
    return _create_text_function("oauthAccessToken", 2, given, "OAuth credentials")


def evaluate_logical_start_time(start_ms: int, *arguments: str) -> str:
    """``logicalStartTime([format[,offset[,timezone]]])`` (CDAP 6 ``LogicalStartTimeMacroEvaluator``).

    Without a format the milliseconds since 1970; the offset (``1d-4h+30m``) is subtracted; the zone is
    UTC unless given.

    :raises MacroError: when an argument cannot be understood.
    """
    if list(arguments) in ([], [""]):
        return str(start_ms)
    if len(arguments) > 3:
        raise MacroError(
            "logicalStartTime takes at most 3 arguments: format, offset, timezone. "
            "A format that contains a comma is not supported.",
            _FORMAT,
        )
    pattern, offset, zone = (*arguments, "", "")[:3]
    try:
        moment = from_epoch_millis(start_ms - _parse_offset(offset.strip()))
        return format_simple_date(moment.astimezone(parse_zone(zone.strip() or "UTC")), pattern)
    except (ValueError, OverflowError) as error:
        raise MacroError(f"logicalStartTime({','.join(arguments)}): {error}.", _FORMAT) from None


def _parse_offset(offset: str) -> int:
    total, at = 0, 0
    for part in _OFFSET.finditer(offset):
        if part.start() != at:
            break
        sign = -1 if part[1] == "-" else 1
        total += sign * int(part[2]) * _UNIT_MS[part[3]]
        at = part.end()
    if at != len(offset):
        raise ValueError(f"'{offset}' is not an offset such as 1d-4h+30m")
    return total
