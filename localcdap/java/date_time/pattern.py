"""The patterns of ``DateTimeFormatter``."""

from __future__ import annotations

from typing import Any, Final

from localcdap.java.dates.pieces import Piece, pieces

Part = Any
"""Of a pattern: a text; a letter with its number; or a list of parts, which is optional."""

_MOST: Final = {
    letter: most
    for most, letters in (
        (1, "aWF"),
        (2, "HhKkmsdw"),
        (3, "DXx"),
        (4, "Oz"),
        (5, "MLEecGQqZ"),
        (9, "S"),
        (19, "yuYnNA"),
    )
    for letter in letters
}
"""The most letters of a kind in a row."""


class PatternError(ValueError):
    """A text is no pattern of dates; the message says why."""


def parts_of(pattern: str) -> list[Part]:
    """What a pattern holds.

    :raises PatternError: when it is none.
    """
    stack: list[list[Part]] = [[]]
    for piece in pieces(pattern):
        if piece.letter:
            stack[-1].append(_field(piece.letter, len(piece.text)))
        elif piece == Piece("["):
            optional: list[Part] = []
            stack[-1].append(optional)
            stack.append(optional)
        elif piece == Piece("]"):
            if len(stack) == 1:
                raise PatternError(f"'{pattern}' has a ] without a [ before it")
            stack.pop()
        else:
            stack[-1].append(_text(piece, pattern))
    return stack[0]


def _text(piece: Piece, pattern: str) -> str:
    if piece == Piece("'"):
        raise PatternError(f"'{pattern}' has a quote without an end")
    if not piece.quoted and piece.text in "{}#":
        raise PatternError(f"'{pattern}' holds '{piece.text}', which is reserved: quote it")
    return piece.text


def _field(letter: str, width: int) -> tuple[str, int]:
    if letter == "V":
        if width != 2:
            raise PatternError("the letter V must stand twice")
        return letter, width
    most = _MOST.get(letter)
    if most is None:
        raise PatternError(f"'{letter}' is no letter of a date pattern: quote it")
    if width > most or (letter == "O" and width not in (1, 4)):
        raise PatternError(f"'{letter * width}' has too many letters")
    return letter, width
