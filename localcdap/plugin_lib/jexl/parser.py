"""From the text of an expression to its tree."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from localcdap.plugin_lib.jexl.errors import JexlError, Problem
from localcdap.plugin_lib.jexl.tree import DEEPEST, Node

if TYPE_CHECKING:
    from lark import Lark, Token

LONGEST: Final = 100_000
"""Characters that an expression may have."""


def parse_tree(text: str) -> Node:
    """The tree of an expression or a script; its root is of kind ``script``.

    :raises JexlError: with every problem found.
    """
    if len(text) > LONGEST:
        problem = Problem(f"The expression has {len(text)} characters; {LONGEST} are allowed", 1, 1)
        raise JexlError(text, [problem])
    from lark.exceptions import UnexpectedInput

    from localcdap.plugin_lib.jexl.building import TreeError

    parser = _parser()
    try:
        root: Any = parser.parse(text)
    except UnexpectedInput as error:
        raise JexlError(text, _strange_tokens(parser, text) or [_unexpected(error)]) from None
    except TreeError as error:
        raise JexlError(text, _strange_tokens(parser, text) or [error.problem]) from None
    if root.depth > DEEPEST + 2:
        message = f"The expression is nested {root.depth} levels deep; {DEEPEST} are allowed"
        raise JexlError(text, [Problem(message, 1, 1, "Set a column to a part of it first.")])
    assert isinstance(root, Node)
    return root


@functools.cache
def _parser() -> Lark:
    """Made once in a process (about 40 ms)."""
    from importlib import resources

    from lark import Lark

    from localcdap.plugin_lib.jexl.building import Builder
    from localcdap.plugin_lib.jexl.functions import NAMESPACES
    from localcdap.plugin_lib.jexl.sorting import Sorting

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        postlex=Sorting(NAMESPACES),
        transformer=Builder(),
        maybe_placeholders=False,
    )


def _strange_tokens(parser: Lark, text: str) -> list[Problem]:
    """What no expression can hold, all of it at once."""
    found: list[Problem] = []
    line = -1
    for token in parser.lex(text):
        problem = _strange(token)
        if problem is not None and not (token.type == "UNKNOWN" and problem.line == line):
            found.append(problem)
            line = problem.line if token.type == "UNKNOWN" else line
    return found


def _strange(token: Token) -> Problem | None:
    line, column = token.line or 1, token.column or 1
    if token.type == "LAMBDA":
        return Problem(f"Functions cannot be declared ('{token}')", line, column)
    if token.type != "UNKNOWN":
        return None
    if str(token) in ("'", '"'):
        return Problem(
            "A text has no end", line, column, f"Close it with {token} on the same line."
        )
    if str(token) == "`":
        return Problem("Template texts (`…`) cannot be used", line, column, "Join texts with '+'.")
    if token.isdigit():
        return Problem("A number is followed by what is no part of it", line, column)
    return Problem(f"The character {str(token)!r} cannot be used here", line, column)


def _unexpected(error: Any) -> Problem:
    token = getattr(error, "token", None)
    if token is None or token.type == "$END":
        line = token.end_line or token.line if token is not None else error.line
        column = token.end_column or token.column if token is not None else error.column
        hint = "A value, a closing bracket or a part of '? :' is missing."
        return Problem("The expression ends too early", line or 1, column or 1, hint)
    hint = "An operator is missing before it, or it is not closed before."
    if str(token) == ":":
        hint = "Write the names of columns without a colon here; '? :' begins with its '?'."
    return Problem(f"'{token}' is not expected here", token.line, token.column, hint)
