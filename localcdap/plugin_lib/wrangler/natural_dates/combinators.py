"""Tokens of texts as Natty's ``DateLexer.g`` splits them, and parsers made of parsers.

Each parser returns every end that it can reach, with the value up to there.

Words need no space between them: ``6pm`` and ``20th`` are two tokens each. Digits are taken in pairs.

Where a parser is wanted, a text stands for words without a value, see :func:`words`.

A parser reads at a position of a parse. It returns a dictionary of values by end position, the
preferred end first. Where two ways reach the same end, the first one counts, as in an ANTLR grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

SPACE: Final = "space"
UNKNOWN: Final = "unknown"
INTEGER: Final = "integer"


class Token(NamedTuple):
    """A part of the text: its kind, its characters in lower case, and where they begin and end."""

    kind: str
    text: str
    start: int
    end: int


def list_words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


def _expand(stems: str, *endings: str) -> list[str]:
    return [stem + ending for stem in stems.split() for ending in endings]


_POSSESSIVE: Final = ("", "'", "s", "'s")

_WORDS: Final[dict[str, list[str]]] = {
    "january": [*_expand("january", "", "s"), *_expand("jan", "", ".")],
    "february": [*_expand("february", "", "s"), *_expand("feb", "", ".")],
    "march": ["march", "marches", *_expand("mar", "", ".")],
    "april": [*_expand("april", "", "s"), *_expand("apr", "", ".")],
    "may": ["may", "mays"],
    "june": [*_expand("june", "", "s"), *_expand("jun", "", ".")],
    "july": [*_expand("july", "", "s"), *_expand("jul", "", ".")],
    "august": [*_expand("august", "", "s"), *_expand("aug", "", ".")],
    "september": [*_expand("september", "", "s"), *_expand("sep sept", "", ".")],
    "october": [*_expand("october", "", "s"), *_expand("oct", "", ".")],
    "november": [*_expand("november", "", "s"), *_expand("nov", "", ".")],
    "december": [*_expand("december", "", "s"), *_expand("dec", "", ".")],
    "sunday": [*_expand("sunday", "", "s"), *_expand("sun suns", "", ".")],
    "monday": [*_expand("monday", "", "s"), *_expand("mon mons", "", ".")],
    "tuesday": [*_expand("tuesday", "", "s"), *_expand("tues tue", "", ".")],
    "wednesday": [*_expand("wednesday", "", "s"), *_expand("wed weds", "", ".")],
    "thursday": [*_expand("thursday", "", "s"), *_expand("thur thu thus thurs", "", ".")],
    "friday": [*_expand("friday", "", "s"), *_expand("fri fris", "", ".")],
    "saturday": [*_expand("saturday", "", "s"), *_expand("sat sats", "", "."), "weekend"],
    "hour": ["hour", "hours", *_expand("hr hrs", "", ".")],
    "minute": ["minute", "minutes", *_expand("min mins", "", ".")],
    "second": ["second", "seconds", "sec", "secs"],
    "day": ["day", "days"],
    "week": ["week", "weeks", *_expand("wks", "", ".")],
    "month": ["month", "months"],
    "year": ["year", "years", "year's", *_expand("yrs", "", ".")],
    "tomorrow": ["tomorow", "tomorrow", "tommorow", "tommorrow", "tmr"],
    "at": ["at", "@"],
    "am": ["am", "a.m", "a.m.", "a_m", "a"],
    "pm": ["pm", "p.m", "p.m.", "p_m", "p"],
    "midnight": ["midnight", "mid-night"],
    "noon": ["noon", "afternoon", "after-noon"],
    "evening": ["evening", "eve"],
    "utc": ["utc", "gmt", "z"],
    "est": ["est", "edt", "et", "eastern"],
    "pst": ["pst", "pdt", "pt", "pacific"],
    "cst": ["cst", "cdt", "ct", "central"],
    "mst": ["mst", "mdt", "mt", "mountain"],
    "akst": ["akst", "akdt", "akt", "alaska"],
    "hast": ["hast", "hadt", "hat", "hst", "hawaii"],
    "eighteen": ["eighteen", "eightteen"],
    "last": ["last", "final"],
    "beginning": ["beginning", "begining"],
    "fool": ["fool", "fools", "fool's"],
    "christmas": _expand("christmas xmas x-mas", "", "es"),
    "father": ["father", "fathers", "father's"],
    "halloween": _expand("halloween haloween", "", "s"),
    "inauguration": ["inauguration", "inaugaration"],
    "independence": ["independence", "independance"],
    "kwanzaa": _expand("kwanza kwanzaa", "", "s"),
    "mother": _expand("mother", *_POSSESSIVE),
    "patriot": _expand("patriot", *_POSSESSIVE),
    "president": _expand("president", *_POSSESSIVE),
    "patrick": _expand("patrick patty paddy", *_POSSESSIVE),
    "thanksgiving": _expand("thanksgiving", "", "s"),
    "valentine": _expand("valentine", *_POSSESSIVE),
    "veteran": _expand("veteran", *_POSSESSIVE),
    "winter": _expand("winter", "", "s"),
    "fall": _expand("fall autumn", "", "s"),
    "spring": _expand("spring", "", "s"),
    "summer": _expand("summer", "", "s"),
}
"""The texts of the tokens that have more than one."""

_SINGLE: Final = list_words(
    "today tonight yesterday every until after past t h morning night one two three four "
    "five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen nineteen twenty thirty first third fourth fifth sixth seventh eighth ninth "
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth "
    "eighteenth nineteenth twentieth thirtieth st nd rd th : , - / . + ' current for in "
    "an the or and to through on of this that next coming upcoming from now ago before "
    "start end black columbus earth easter flag good labor mlk memorial new palm saint "
    "tax election"
)

_KINDS: Final = {
    **{word: word for word in _SINGLE},
    **{text: kind for kind, texts in _WORDS.items() for text in texts},
    **{str(number): INTEGER for number in range(10)},
    **{f"{number:02}": INTEGER for number in range(100)},
}
_LONGEST: Final = max(map(len, _KINDS))
_BLANK: Final = re.compile(r"[. \t\n\r\xa0]+")
_PHRASES: Final = (
    ("groundhog", re.compile(r"ground[. \t\n\r\xa0]*hog'?s?")),
    ("mlk", re.compile(r"martin[. \t\n\r\xa0]+luther[. \t\n\r\xa0]+king(?:,[ \t\n\r\xa0]jr\.?)?")),
)
_PHRASE_LETTERS: Final = "gm"

_NO_START: Final = frozenset(
    list_words(
        "after ago akst am an and before : cst - . est fool from hast hour h minute mst nd of "
        "on or palm patrick + pm pst rd ' / t th that through to until utc"
    )
) | {UNKNOWN}


def may_start(token: Token) -> bool:
    """Return whether a date may begin with the token."""
    return token.kind not in _NO_START


def split_tokens(text: str) -> list[Token]:
    """Return the tokens of a text, which cover all of it."""
    lower = text.lower() if text.isascii() else "".join(map(_lower_character, text))
    tokens: list[Token] = []
    at = 0
    while at < len(lower):
        token = _read_token(lower, at)
        tokens.append(token)
        at = token.end
    return tokens


def _lower_character(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _read_token(text: str, at: int) -> Token:
    blank = _BLANK.match(text, at)
    if blank is not None and blank[0] != ".":
        return Token(SPACE, blank[0], at, blank.end())
    if text[at] in _PHRASE_LETTERS:
        for kind, pattern in _PHRASES:
            phrase = pattern.match(text, at)
            if phrase is not None:
                return Token(kind, phrase[0], at, phrase.end())
    for end in range(min(at + _LONGEST, len(text)), at, -1):
        kind_here = _KINDS.get(text[at:end])
        if kind_here is not None:
            return Token(kind_here, text[at:end], at, end)
    return Token(UNKNOWN, text[at], at, at + 1)


Ends = dict[int, Any]


@dataclass(frozen=True, slots=True)
class Parser:
    """A function that reads tokens, and the kinds of the tokens that it can begin with."""

    read: Callable[[Parse, int], Ends]
    first: frozenset[str] | None
    """None if it is not known, as in a rule that uses itself."""
    may_be_empty: bool = False
    is_silent: bool = False
    """Whether it has no value, so that a sequence leaves it out."""

    def may_read(self, kind: str | None) -> bool:
        return self.may_be_empty or self.first is None or kind in self.first


class Parse:
    """One attempt to read tokens: which of them may be read, how far was looked, and known results."""

    __slots__ = ("furthest", "known", "limit", "tokens")

    def __init__(self, tokens: Sequence[Token], limit: int) -> None:
        self.tokens = tokens
        self.limit = limit
        self.furthest = 0
        self.known: dict[tuple[int, int], Ends] = {}

    def find(self, at: int) -> Token | None:
        """Return the token at a position; None at the limit."""
        self.furthest = max(self.furthest, at)
        return self.tokens[at] if at < self.limit else None


def token(*kinds: str) -> Parser:
    """Return a parser for one token of these kinds; its value is the kind."""
    wanted = frozenset(kinds)

    def parse(run: Parse, at: int) -> Ends:
        found = run.find(at)
        return {at + 1: found.kind} if found is not None and found.kind in wanted else {}

    return Parser(parse, wanted)


def words(text: str) -> Parser:
    """Return a parser without a value for tokens that are written as in a date: ``"the day after"``.

    A blank stands for a space, ``|`` separates kinds of a token, and a space or token with ``?`` may be
    missing: ``",? and|or "``.
    """
    parts = [_build_word(kinds, may) for kinds, may in re.findall(r"( |[^ ?]+)(\??)", text)]
    return parts[0] if len(parts) == 1 else sequence(*parts)


def _build_word(kinds: str, may_be_missing: str) -> Parser:
    part = token(*([SPACE] if kinds == " " else kinds.split("|")))

    def parse(run: Parse, at: int) -> Ends:
        return dict.fromkeys(part.read(run, at))

    silent = Parser(parse, part.first, is_silent=True)
    return optional(silent) if may_be_missing else silent


def _to_parser(part: Parser | str) -> Parser:
    return words(part) if isinstance(part, str) else part


def digits(*allowed: str) -> Parser:
    """Return a parser for one token of one or two digits; its value is their text."""
    wanted = frozenset(allowed)

    def parse(run: Parse, at: int) -> Ends:
        found = run.find(at)
        fits = found is not None and found.kind == INTEGER and found.text in wanted
        return {at + 1: found.text} if fits and found is not None else {}

    return Parser(parse, frozenset([INTEGER]))


def sequence(*described: Parser | str, make: Callable[..., Any] | None = None) -> Parser:
    """Return a parser for one part after the other.

    :param make: the function from the values of the parts to the value of the sequence; without it, at most
        one part has a value, which is that of the sequence.
    """
    parts = list(map(_to_parser, described))
    is_silent = make is None and all(part.is_silent for part in parts)
    build = make or (_get_none if is_silent else _get_only)

    def parse(run: Parse, at: int) -> Ends:
        reached: dict[int, tuple[Any, ...]] = {at: ()}
        for part in parts:
            reached = _advance(run, part, reached)
            if not reached:
                return {}
        return {end: build(*values) for end, values in reached.items()}

    first: list[frozenset[str] | None] = []
    for part in parts:
        first.append(part.first)
        if not part.may_be_empty:
            break
    return Parser(parse, _unite(first), all(part.may_be_empty for part in parts), is_silent)


def _get_none() -> None:
    return None


def _get_only(value: Any) -> Any:
    return value


def _advance(
    run: Parse, part: Parser, reached: dict[int, tuple[Any, ...]]
) -> dict[int, tuple[Any, ...]]:
    further: dict[int, tuple[Any, ...]] = {}
    for start, values in reached.items():
        for end, value in part.read(run, start).items():
            if end not in further:
                further[end] = values if part.is_silent else (*values, value)
    return further


class _Choices:
    """Alternatives, of which only those are tried that can begin with the token that is there."""

    def __init__(self, parts: Sequence[Parser]) -> None:
        self._parts = tuple(parts)
        self._by_kind: dict[str | None, tuple[Parser, ...]] = {}
        self.first = _unite(part.first for part in parts)
        self.may_be_empty = any(part.may_be_empty for part in parts)
        self.is_silent = all(part.is_silent for part in parts)

    def find(self, run: Parse, at: int) -> tuple[Parser, ...]:
        token_here = run.find(at)
        kind = None if token_here is None else token_here.kind
        found = self._by_kind.get(kind)
        if found is None:
            found = tuple(part for part in self._parts if part.may_read(kind))
            self._by_kind[kind] = found
        return found


def _unite(kinds: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    united: frozenset[str] = frozenset()
    for one in kinds:
        if one is None:
            return None
        united |= one
    return united


def either(*parts: Parser | str) -> Parser:
    """Return a parser for any of the parts."""
    choices = _Choices([*map(_to_parser, parts)])

    def parse(run: Parse, at: int) -> Ends:
        ends: Ends = {}
        for part in choices.find(run, at):
            for end, value in part.read(run, at).items():
                ends.setdefault(end, value)
        return ends

    return Parser(parse, choices.first, choices.may_be_empty, choices.is_silent)


def optional(described: Parser | str) -> Parser:
    """Return a parser for a part or nothing, of which the value is None."""
    part = _to_parser(described)

    def parse(run: Parse, at: int) -> Ends:
        found = run.find(at)
        if not part.may_read(None if found is None else found.kind):
            return {at: None}
        ends = dict(part.read(run, at))
        ends.setdefault(at, None)
        return ends

    return Parser(parse, part.first, may_be_empty=True, is_silent=part.is_silent)


def repeat(part: Parser, *, least: int = 0) -> Parser:
    """Return a parser for a part any number of times, longest first; its value is a tuple."""

    def parse(run: Parse, at: int) -> Ends:
        reached: dict[int, tuple[Any, ...]] = {at: ()}
        found = dict(reached) if least == 0 else {}
        while reached:
            reached = _advance(run, part, reached)
            found = {**reached, **found}
        return found

    return Parser(parse, part.first, least == 0)


def constant(part: Parser | str, value: Any) -> Parser:
    """Return the parser with another value."""
    return sequence(part, make=lambda *_: value)


def choose(values: dict[str, Any]) -> Parser:
    """Return a parser for one token; its value is that of the kind."""
    return sequence(token(*values), make=values.__getitem__)


def commit(*parts: Parser) -> Parser:
    """Return a parser for the first part that fits at all, like a syntactic predicate of ANTLR."""
    choices = _Choices(parts)

    def parse(run: Parse, at: int) -> Ends:
        for part in choices.find(run, at):
            ends = part.read(run, at)
            if ends:
                return ends
        return {}

    return Parser(parse, choices.first, choices.may_be_empty)


def memoize(part: Parser) -> Parser:
    """Return the parser with its results kept by position."""
    key = id(part)

    def parse(run: Parse, at: int) -> Ends:
        ends = run.known.get((key, at))
        if ends is None:
            ends = run.known[key, at] = part.read(run, at)
        return ends

    return Parser(parse, part.first, part.may_be_empty, part.is_silent)
