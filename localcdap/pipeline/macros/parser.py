"""Macros: ``${key}`` and ``${function(argument,…)}`` in the values of properties, and their functions.

The algorithm is that of CDAP 6 ``MacroParser``: the rightmost macro is expanded first, so that inner ones
come before outer ones; its value is expanded too, up to ten levels deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, MacroError
from localcdap.java.dates.simple_date_format import format_simple_date
from localcdap.java.dates.zones import parse_zone
from localcdap.java.numbers import NumberFormatError, parse_long
from localcdap.java.unix_time import from_epoch_millis
from localcdap.pipeline.document.values import encode_json

MAX_LEVELS: Final = 10
"""How deep values of macros may hold macros in turn (as in CDAP)."""
MAX_SUBSTITUTIONS: Final = 10_000
"""The most substitutions in one text; more count as an endless expansion."""

Lookup = Callable[[str], str]
"""Returns the value of an argument; raises :class:`MacroError` when it has none."""
Function = Callable[..., str]
"""A macro function: texts in, a text out; raises :class:`MacroError`."""
Call = Callable[[str, Sequence[str]], str]
"""Calls the function of a name with arguments."""


class MacroOptions(msgspec.Struct, frozen=True):
    """Which macros are evaluated; all others stay in the text as they are."""

    lookups: bool = True
    functions: bool = True
    whitelist: frozenset[str] = frozenset()
    """Names of the functions to evaluate; empty means all."""
    escaping: bool = True
    """Whether a backslash makes ``${``, ``}``, ``(``, ``)`` and a backslash ordinary text."""
    skip_invalid: bool = False
    """Leave a macro without a value in the text instead of raising."""


class Expansion(msgspec.Struct):
    """A text after its macros were expanded."""

    text: str
    unresolved: list[str]
    """Bodies of the macros left in the text, rightmost first."""
    errors: list[MacroError] = []
    """Why macros without a value have none, leftmost first, each reason once."""


class _Found(msgspec.Struct):
    """A macro, and what replaces ``text[start:end]``."""

    start: int
    end: int
    replacement: str
    expand: bool


def create_undefined_error(name: str) -> MacroError:
    """Return the error for an argument without a value."""
    return MacroError(
        f"Argument '{name}' is not defined.", f"Give it a value, for instance with -a {name}=VALUE."
    )


def create_lookup(arguments: Mapping[str, str]) -> Lookup:
    """Return a lookup in the arguments of a run."""

    def lookup(name: str) -> str:
        value = arguments.get(name)
        if value is None:
            raise create_undefined_error(name)
        return value

    return lookup


def create_call(functions: Mapping[str, Function]) -> Call:
    """Return a call of the given functions by name."""

    def call(name: str, arguments: Sequence[str]) -> str:
        function = functions.get(name)
        if function is None:
            raise _create_unknown_error(name, functions)
        return function(*arguments)

    return call


def _create_unknown_error(name: str, functions: Iterable[str]) -> MacroError:
    known = ", ".join(sorted(functions)) or "none"
    return MacroError(
        f"Unsupported macro function {name}", f"Functions that can be used here: {known}."
    )


class MacroParser:
    """Expands the macros of texts, one at a time."""

    def __init__(self, lookup: Lookup, call: Call, options: MacroOptions | None = None) -> None:
        self._lookup = lookup
        self._call = call
        self._options = options or MacroOptions()
        self._budget = 0
        self._unresolved: list[str] = []
        self._errors: dict[str, MacroError] = {}

    def parse(self, text: str | None) -> str | None:
        """Return the text with its macros expanded; None for None.

        :raises MacroError: for a malformed macro, one that expands without end, and, unless invalid
            ones are skipped, one without a value.
        """
        return None if text is None else self.expand(text).text

    def expand(self, text: str) -> Expansion:
        """Return the text with its macros expanded, and the macros that were left.

        :raises MacroError: as :meth:`parse` does.
        """
        self._budget = MAX_SUBSTITUTIONS
        self._unresolved = []
        self._errors = {}
        expanded = self._unescape(self._expand(text, 0))
        return Expansion(expanded, self._unresolved, [*reversed(self._errors.values())])

    def _expand(self, text: str, level: int) -> str:
        if level > MAX_LEVELS:
            raise MacroError(
                f"Failed substituting macro '{text}', expansion exceeded {MAX_LEVELS} levels.",
                "Look for a macro whose value refers back to itself.",
            )
        found = self._find_rightmost(text, len(text))
        left = list[str]()
        while found is not None:
            self._count_substitution(text)
            middle = found.replacement
            if found.expand:
                middle = self._expand(middle, level + 1)
                left.clear()  # the search starts again and finds the unresolved macros again
            else:
                left.append(middle[2:-1])
            text = text[: found.start] + middle + text[found.end :]
            found = self._find_rightmost(text, len(text) if found.expand else found.start - 1)
        if level == 0:
            self._unresolved = left
        return text

    def _count_substitution(self, text: str) -> None:
        self._budget -= 1
        if self._budget < 0:
            shown = text if len(text) <= 80 else text[:77] + "..."
            raise MacroError(
                f"Failed substituting macro '{shown}', it expands without end.",
                "Look for a macro whose value refers back to itself.",
            )

    def _find_rightmost(self, text: str, before: int) -> _Found | None:
        """Return the rightmost macro that starts at or before an index."""
        start = self._find_start(text, before)
        if start < 0:
            return None
        close = self._find_first("}", text, start)
        if close < 0:
            raise MacroError(
                f"Could not find enclosing '}}' for macro '{text[start:]}'.",
                "Close the macro with '}'.",
            )
        body = text[start + 2 : close].strip()
        open_paren = self._find_first("(", body, 0)
        if open_paren >= 0:
            return self._read_function(text, start, close, body, open_paren)
        key = self._unescape(body)
        if self._options.lookups:
            try:
                return _Found(start, close + 1, self._lookup(key), True)
            except MacroError as error:
                self._note_error(error, key)
        return _Found(start, close + 1, f"${{{key}}}", False)

    def _read_function(
        self, text: str, start: int, close: int, body: str, open_paren: int
    ) -> _Found:
        options = self._options
        paren = self._find_first(")", body, 0)
        if paren < 0 and (options.skip_invalid or not options.lookups):
            # An inner macro is unresolved, and its '}' was mistaken for the end of this one.
            later = self._find_first(")", text, close)
            if later > close and text[later + 1 : later + 2] == "}":
                close = later + 1
                body = text[start + 2 : close]
                paren = self._find_first(")", body, 0)
                if self._find_start(body, len(body)) >= 0:
                    return _Found(start, close + 1, f"${{{body}}}", False)
        _check_parentheses(body, paren)
        name = self._unescape(body[:open_paren])
        arguments = self._unescape(body[open_paren + 1 : -1]).split(",")
        if options.functions and (not options.whitelist or name in options.whitelist):
            try:
                return _Found(start, close + 1, self._call(name, arguments), True)
            except MacroError as error:
                self._note_error(error, body)
        return _Found(start, close + 1, f"${{{body}}}", False)

    def _note_error(self, error: MacroError, body: str) -> None:
        """Raise an error, or note it where macros may lack a value."""
        if not self._options.skip_invalid:
            raise error
        if "${" not in body:  # else the name depends on another macro without a value
            self._errors.setdefault(error.message, error)

    def _find_start(self, text: str, before: int) -> int:
        index = text.rfind("${", 0, before + 2) if before >= 0 else -1
        while index >= 0 and self._is_escaped(text, index):
            index = text.rfind("${", 0, index - 1)
        return index

    def _find_first(self, token: str, text: str, start: int) -> int:
        index = text.find(token, start)
        while index >= 0 and self._is_escaped(text, index):
            index = text.find(token, index + 1)
        return index

    def _is_escaped(self, text: str, index: int) -> bool:
        """Return whether an odd number of backslashes stands before the index."""
        if not self._options.escaping:
            return False
        before = index
        while before > 0 and text[before - 1] == "\\":
            before -= 1
        return (index - before) % 2 == 1

    def _unescape(self, text: str) -> str:
        """Return the text without escaping backslashes; two backslashes become one."""
        if not self._options.escaping or "\\" not in text:
            return text
        kept: list[str] = []
        escaped = False
        for char in text:
            if char == "\\" and not escaped:
                escaped = True
                continue
            kept.append(char)
            escaped = False
        return "".join(kept)


def _check_parentheses(body: str, paren: int) -> None:
    if paren < 0 or not body.endswith(")"):
        raise MacroError(
            f"Could not find enclosing ')' for macro arguments in '{body}'.",
            "Close the arguments with ')' just before '}'.",
        )
    if paren != len(body) - 1:
        raise MacroError(
            f"Macro arguments in '{body}' have extra invalid trailing ')'.",
            "Remove it, or write '\\)' for one that belongs to an argument.",
        )


def has_macro(text: str | None, *, escaping: bool = True) -> bool:
    """Return whether the text holds a macro.

    :raises MacroError: when it holds a malformed one.
    """
    if text is None or "${" not in text:
        return False
    return bool(_record_macros(text, escaping))


def list_macros(text: str | None, *, escaping: bool = True) -> list[str]:
    """Return the macros of a text: keys of lookups, and calls ``function(arguments)``; rightmost first.

    A macro whose name depends on another macro is left out: its name is known only with that value.

    :raises MacroError: when the text holds a malformed macro.
    """
    if text is None or "${" not in text:
        return []
    return [macro for macro in _record_macros(text, escaping) if _UNKNOWN not in macro]


_UNKNOWN: Final = "\0"
"""Placeholder for the value of a macro that is only recorded."""


def _record_macros(text: str, escaping: bool) -> list[str]:
    found: list[str] = []

    def lookup(key: str) -> str:
        found.append(key)
        return _UNKNOWN

    def call(name: str, arguments: Sequence[str]) -> str:
        found.append(f"{name}({','.join(arguments)})")
        return _UNKNOWN

    MacroParser(lookup, call, MacroOptions(escaping=escaping)).expand(text)
    return found


LOGICAL_START_TIME: Final = "logical.start.time"
"""The runtime argument with the logical start time of a run, in milliseconds since 1970 (CDAP 6
``ProgramOptionConstants``). Runs without it get their own."""
SECRET_FUNCTIONS: Final = frozenset(("secure", "oauth", "conn"))
"""The functions that validation evaluates too (CDAP 6 ``ValidationHandler``)."""
_COUNTS: Final = {"secure": 1, "oauth": 2, "oauthAccessToken": 2, "conn": 1}
"""By function, how many arguments it takes."""
_CALL: Final = re.compile(r"([^()]*)\((.*)\)", re.DOTALL)
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
        "secure": _create_text_function("secure", secure, "the secure store"),
        "oauth": _create_map_function("oauth", oauth, "OAuth credentials"),
        "oauthAccessToken": _create_token_function(oauth),
        "conn": _create_map_function("conn", conn, "named connections"),
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


def _check_count(name: str, arguments: Sequence[str]) -> list[MacroError]:
    """Return an error when a function of a number of arguments has another one."""
    count = _COUNTS[name]
    if len(arguments) == count:
        return []
    return [
        MacroError(
            f"Macro function '{name}' takes {count} argument(s), not {len(arguments)}.",
            f"Write it as {name}({'provider,credential' if count == 2 else 'name'}).",
        )
    ]


def _create_text_function(name: str, provider: Callable[..., str] | None, what: str) -> Function:
    def function(*arguments: str) -> str:
        if provider is None:
            raise MacroError(
                f"Macro function '{name}' cannot be used: {what} is not available here.",
                "Write the value itself, or use an argument and give it with -a NAME=VALUE.",
            )
        for error in _check_count(name, arguments):
            raise error
        return provider(*(argument.strip() for argument in arguments))

    return function


def _create_map_function(
    name: str, provider: Callable[..., Mapping[str, str]] | None, what: str
) -> Function:
    """Return a function whose value is a JSON object."""
    if provider is None:
        return _create_text_function(name, None, what)
    return _create_text_function(name, lambda *given: encode_json(dict(provider(*given))), what)


def _create_token_function(oauth: Credentials | None) -> Function:
    """Return a function whose value is the access token alone (CDAP 6 ``OAuthAccessTokenMacroEvaluator``)."""

    def get(provider: str, credential: str) -> str:
        assert oauth is not None
        return oauth(provider, credential)["accessToken"]

    given = None if oauth is None else get
    return _create_text_function("oauthAccessToken", given, "OAuth credentials")


def evaluate_logical_start_time(start_ms: int, *arguments: str) -> str:
    """``logicalStartTime([format[,offset[,timezone]]])`` (CDAP 6 ``LogicalStartTimeMacroEvaluator``).

    Without a format the milliseconds since 1970; the offset (``1d-4h+30m``) is subtracted; the zone is
    UTC unless given.

    :raises MacroError: when an argument cannot be understood.
    """
    if list(arguments) in ([], [""]):
        return str(start_ms)
    for error in _check_logical_start_time(arguments):
        raise error
    pattern, offset, zone = (*arguments, "", "")[:3]
    try:
        moment = from_epoch_millis(start_ms - _parse_offset(offset.strip()))
        return format_simple_date(moment.astimezone(parse_zone(zone.strip() or "UTC")), pattern)
    except (ValueError, OverflowError) as error:
        raise _create_time_error(arguments, error) from None


def find_call_errors(macro: str) -> list[MacroError]:
    """Return what is wrong with a call of a function, whatever the run is.

    CDAP finds it at the start of a run, and takes GMT for a zone that does not exist.

    :param macro: the body of a macro, such as ``secure(key)``; one of another form has no such errors.
    """
    call = _CALL.fullmatch(macro)
    if call is None or "${" in macro:
        return []
    name, arguments = call[1], call[2].split(",")
    if name == "logicalStartTime":
        return [] if arguments == [""] else _check_logical_start_time(arguments)
    if name in _COUNTS:
        return _check_count(name, arguments)
    return [_create_unknown_error(name, [*_COUNTS, "logicalStartTime"])]


def _check_logical_start_time(arguments: Sequence[str]) -> list[MacroError]:
    """Return an error for each argument that cannot be understood."""
    if len(arguments) > 3:
        return [
            MacroError(
                "logicalStartTime takes at most 3 arguments: format, offset, timezone. "
                "A format that contains a comma is not supported.",
                _FORMAT,
            )
        ]
    pattern, offset, zone = (*arguments, "", "")[:3]
    checks: list[Callable[[], object]] = [
        lambda: format_simple_date(from_epoch_millis(0), pattern),
        lambda: _parse_offset(offset.strip()),
        lambda: parse_zone(zone.strip() or "UTC"),
    ]
    errors = []
    for check in checks:
        try:
            check()
        except ValueError as error:
            errors.append(_create_time_error(arguments, error))
    return errors


def _create_time_error(arguments: Sequence[str], error: Exception) -> MacroError:
    return MacroError(f"logicalStartTime({','.join(arguments)}): {error}.", _FORMAT)


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
