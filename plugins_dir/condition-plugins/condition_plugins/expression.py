"""The grammar of expressions: the part of JEXL that conditions are written in."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lark import Lark

_GRAMMAR: Final = r"""
?start: choice
?choice: or_ | or_ "?" choice ":" choice -> choose | or_ "?:" choice -> either_or
?or_: and_ | or_ ("||" | "or") and_ -> either
?and_: comparison | and_ ("&&" | "and") comparison -> both
?comparison: sum | sum COMPARE sum -> compare
?sum: product | sum ADD product -> arithmetic
?product: unary | product MULTIPLY unary -> arithmetic
?unary: postfix | "-" unary -> minus | ("!" | "not") unary -> negated
?postfix: primary | postfix "." NAME -> member | postfix "[" choice "]" -> item
    | postfix "." NAME "(" [choice ("," choice)*] ")" -> method
?primary: NUMBER -> number | STRING -> text | "true" -> true | "false" -> false | "null" -> null
    | NAME -> variable | NAME "(" [choice ("," choice)*] ")" -> function
    | NAME ":" NAME "(" [choice ("," choice)*] ")" -> namespaced | "empty" unary -> empty
    | "(" choice ")"
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">" | "=~" | "!~" | "=^" | "=$" | /(eq|ne|le|ge|lt|gt)\b/
ADD: "+" | "-"
MULTIPLY: "*" | "/" | "%" | /(div|mod)\b/
NAME: /(?!(and|or|not|eq|ne|le|ge|lt|gt|div|mod|true|false|null|empty)\b)[A-Za-z_$][\w$]*/
NUMBER: /(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[lLfFdDbBhH]?/
STRING: /'([^'\\]|\\.)*'/ | /"([^"\\]|\\.)*"/
%ignore /\s+/
"""


class ExpressionError(ValueError):
    """An expression that cannot be parsed or has no value. The message says what and where."""


def parse(text: str) -> Any:
    """The syntax tree of an expression.

    :raises ExpressionError: when it is none.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

    try:
        return _parser().parse(text)
    except UnexpectedEOF:
        raise ExpressionError("it ends too early.") from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise ExpressionError("it ends too early.") from None
        raise ExpressionError(
            f"'{error.token}' at position {error.column} is not supported."
        ) from None
    except UnexpectedCharacters as error:
        raise ExpressionError(
            f"'{error.char}' at position {error.column} is not supported."
        ) from None


@lru_cache(maxsize=1)
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="earley", ambiguity="resolve", propagate_positions=True)
