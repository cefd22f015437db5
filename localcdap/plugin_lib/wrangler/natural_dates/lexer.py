"""Splits a text into the tokens that dates are made of, as Natty's ``DateLexer.g`` does.

Words need no space between them: ``6pm`` and ``20th`` are two tokens each. Digits are taken in pairs.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

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
