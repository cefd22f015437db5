"""The sed scripts that recipes use: ``s/regex/replacement/flags`` and ``y/from/to/``, as Unix4j runs them.

Patterns are Java's regular expressions, replacements Java's (``$1`` is a group). A text is one line,
whatever line ends it holds.
"""

from __future__ import annotations

import re
from typing import Final

from localcdap.java.regex import RegexError, compile_regex

_FLAGS: Final = re.compile(r"(\d*)([gpI]*)")


class SedError(ValueError):
    """A text is no script that can be run; the message says why."""


class Sed:
    """A script.

    >>> Sed("s/^data_//g").run("data_data_x")
    'data_x'

    :raises SedError: for a text that is none.
    """

    def __init__(self, script: str) -> None:
        stripped = script.strip()
        self.command: Final = stripped[:1]
        if self.command not in ("s", "y"):
            raise SedError(f"'{script}' is no sed script: it begins with s/ or y/")
        self.pattern, self.replacement, flags = _parts(stripped)
        self.nth: Final = _number(script, flags)
        self.is_global: Final = "g" in flags
        self.ignores_case: Final = "I" in flags
        if self.command == "y":
            if len(self.pattern) != len(self.replacement):
                raise SedError(
                    f"'{script}' translates {len(self.pattern)} characters to another number"
                )
            self._table = str.maketrans(self.pattern, self.replacement)
            return
        try:
            # Java's flag is about the letters of ASCII alone, and no letter beyond them matters here.
            self._regex = compile_regex(
                f"(?i){self.pattern}" if self.ignores_case else self.pattern
            )
            self._regex.replace("", self.replacement)
        except RegexError as error:
            raise SedError(f"'{script}' is no sed script: {error}") from None

    def run(self, text: str) -> str:
        """The text as the script changes it.

        :raises TimeoutError: when the pattern takes too long.
        :raises IndexError: when the replacement names a group that the pattern has not.
        """
        if self.command == "y":
            return text.translate(self._table)
        if self.nth > 1:
            return self._run_from_nth(text)
        return self._regex.replace(text, self.replacement, 0 if self.is_global else 1)

    def _run_from_nth(self, text: str) -> str:
        found = self._regex.find_all(text)
        if len(found) < self.nth:
            return text
        start = found[self.nth - 1].start()
        count = 0 if self.is_global else 1
        return text[:start] + self._regex.replace(text[start:], self.replacement, count)


def _parts(script: str) -> tuple[str, str, str]:
    delimiter = script[1:2]
    found: list[str] = []
    start = at = 2
    escaped = False
    while at < len(script) and len(found) < 2:
        character = script[at]
        if character == delimiter and not escaped:
            found.append(script[start:at])
            start = at + 1
        escaped = character == "\\" and not escaped
        at += 1
    if len(found) < 2 or not delimiter:
        raise SedError(
            f"'{script}' is no sed script: it needs the form {script[:1]}/from/to/ with all three delimiters"
        )
    return found[0], found[1], script[start:]


def _number(script: str, flags: str) -> int:
    match = _FLAGS.fullmatch(flags)
    if match is None or match[1] == "0":
        raise SedError(
            f"'{script}' is no sed script: '{flags}' are no flags of it; there are g, I, p and a number"
        )
    return int(match[1]) if match[1] else 1
