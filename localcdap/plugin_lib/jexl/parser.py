"""The parser of expressions, and their trees with the names that these read.

One token of lookahead does not always tell what a token is, so a step between lark's lexer and its parser
classifies the tokens first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lark import Token

from localcdap.plugin_lib.jexl.errors import JexlError, Problem

if TYPE_CHECKING:
    from lark import Lark


DEEPEST: Final = 60
"""The most levels of nesting of an expression; a chain of one operator (``a + b + c …``) is one level."""

CHAINED: Final = frozenset(("+", "-", "*", "/", "%", "&&", "||", "&", "|", "^"))
"""The binary operators whose chains are kept flat: (first, (operator, operand), …)."""

CONDITIONS: Final = frozenset(
    ("==", "!=", "<", ">", "<=", ">=", "=~", "!~", "=^", "!^", "=$", "!$")
)
"""The binary operators that return a bool."""


@dataclass(slots=True, frozen=True)
class Node:
    """A part of an expression. What ``value`` and ``parts`` are depends on the kind:

    =============  ==============================================  ==============================
    kind           value                                           parts
    =============  ==============================================  ==============================
    constant       the value: text, number, bool or None
    name           the variable's name
    list set map                                                   elements; keys and values in turns
    unary          the operator                                    the operand
    binary         the operator                                    left, right
    chain          the operators between the operands              the operands
    ternary                                                        condition, then, otherwise
    elvis                                                          left, right
    coalesce                                                       left, right
    call           (namespace or "", name)                         the arguments
    member         (name, null-safe?)                              the object
    index                                                          the object, the index
    method         (name, null-safe?)                              the object, the arguments
    assign         (operator or "=", the variable's name)          the value
    declare        the variable's name                             the value or nothing
    if                                                             condition, then[, otherwise]
    for_each       the variable's name                             what is walked, the body
    while                                                          condition, the body
    block script                                                   statements
    return                                                         the value
    break          continue nothing
    =============  ==============================================  ==============================
    """

    kind: str
    value: Any
    parts: Sequence[Node]
    line: int
    column: int
    depth: int

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it, in the order of the text (parents first)."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))


def build_node(kind: str, value: Any, parts: Sequence[Node], line: int, column: int) -> Node:
    """Return a node that knows the depth of the tree below it."""
    depth = 1 + max((part.depth for part in parts), default=0)
    return Node(kind, value, parts, line, column, depth)


def find_plain_path(node: Node) -> str | None:
    """Return ``a.b.c`` if the node consists of names and dots only, else None."""
    names: list[str] = []
    while node.kind == "member":
        names.append(node.value[0])
        node = node.parts[0]
    if node.kind != "name":
        return None
    return ".".join((node.value, *reversed(names)))


def list_read_names(root: Node) -> list[str]:
    """Return the names of variables in the order of the text, each once; ``a.b`` reads both ``a`` and
    ``a.b``.

    A name with dots may be the name of a column. Names that the expression declares are left out.
    """
    declared = {node.value for node in root.walk() if node.kind in ("declare", "for_each")}
    names: dict[str, None] = {}
    for node in root.walk():
        if node.kind == "name" and node.value not in declared:
            names[node.value] = None
        elif node.kind == "member":
            path = find_plain_path(node)
            if path is not None and path.split(".")[0] not in declared:
                names[path] = None
        elif node.kind == "assign" and node.value[0] != "=" and node.value[1] not in declared:
            names[node.value[1]] = None
    return list(names)


def list_local_names(root: Node) -> set[str]:
    """Return the names that the expression declares or assigns."""
    found = {node.value for node in root.walk() if node.kind in ("declare", "for_each")}
    return found | {node.value[1] for node in root.walk() if node.kind == "assign"}


WORDS: Final = {
    "and": ("AND", "&&"),
    "or": ("OR", "||"),
    "not": ("NOT", "!"),
    "eq": ("EQUALITY", "=="),
    "ne": ("EQUALITY", "!="),
    "lt": ("RELATION", "<"),
    "le": ("RELATION", "<="),
    "gt": ("RELATION", ">"),
    "ge": ("RELATION", ">="),
    "div": ("PRODUCT", "/"),
    "mod": ("PRODUCT", "%"),
    **{word: ("CONSTANT", word) for word in ("true", "false", "null", "NaN")},
    **{word: (word.upper(), word) for word in ("empty", "size", "if", "else", "var", "return")},
    **{word: (word.upper(), word) for word in ("for", "while", "break", "continue")},
}
"""The words that are not names unless they follow a dot."""

_OPENING: Final = frozenset(("LPAR", "LSQB", "LBRACE", "BLOCK"))
_CLOSING: Final = frozenset(("RPAR", "RSQB", "RBRACE"))
_STATEMENTS: Final = frozenset(("IF", "FOR", "WHILE", "VAR", "RETURN", "BREAK", "CONTINUE"))


class TokenClassifier:
    """The step between lark's lexer and its parser (a ``postlex``), which sees all tokens of a text at
    once.
    """

    always_accept = ()

    def __init__(self, namespaces: frozenset[str]) -> None:
        self._namespaces = namespaces

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        tokens = list(stream)
        _classify_words(tokens)
        _open_blocks(tokens)
        return iter(self._join_namespaces(tokens))

    def _join_namespaces(self, tokens: list[Token]) -> list[Token]:
        out: list[Token] = []
        questions = [0]  # the ternaries that wait for their colon, by depth of brackets
        at = 0
        while at < len(tokens):
            token = tokens[at]
            kind = token.type
            if kind in _OPENING:
                questions.append(0)
            elif kind in _CLOSING and len(questions) > 1:
                questions.pop()
            elif kind == "QMARK":
                questions[-1] += 1
            elif kind == "COLON":
                questions[-1] = max(0, questions[-1] - 1)
            if kind == "NAME" and _is_call(tokens, at):
                in_map = bool(out) and out[-1].type in ("LBRACE", "COMMA")
                if token.value in self._namespaces or not (questions[-1] or in_map):
                    out.append(Token.new_borrow_pos("NAMESPACE", token.value, token))
                    at += 2
                    continue
            out.append(token)
            at += 1
        return out


def _is_call(tokens: list[Token], at: int) -> bool:
    """Return whether the tokens at an index are ``name : name (``."""
    kinds = [token.type for token in tokens[at : at + 4]]
    return kinds == ["NAME", "COLON", "NAME", "LPAR"]


def _classify_words(tokens: list[Token]) -> None:
    for at, token in enumerate(tokens):
        if _is_after_dot(tokens, at):
            if token.type == "INTEGER":  # `list.0`
                tokens[at] = Token.new_borrow_pos("NAME", token.value, token)
        elif token.type == "NAME" and token.value in WORDS:
            kind, value = WORDS[token.value]
            tokens[at] = Token.new_borrow_pos(kind, value, token)


def _is_after_dot(tokens: list[Token], at: int) -> bool:
    return at > 0 and tokens[at - 1].type == "DOT"


def _open_blocks(tokens: list[Token]) -> None:
    closing = _match_brackets(tokens)
    heads = {closing[at + 1] for at, t in enumerate(tokens[:-1]) if _is_head(tokens, at, closing)}
    for at, token in enumerate(tokens):
        if token.type != "LBRACE":
            continue
        before = tokens[at - 1] if at else None
        follows = before is not None and (before.type == "ELSE" or at - 1 in heads)
        starts = before is None or before.type in ("SEMICOLON", "BLOCK", "RBRACE")
        if follows or (starts and _has_statements(tokens, at, closing)):
            tokens[at] = Token.new_borrow_pos("BLOCK", "{", token)


def _is_head(tokens: list[Token], at: int, closing: dict[int, int]) -> bool:
    return tokens[at].type in ("IF", "FOR", "WHILE") and at + 1 in closing


def _match_brackets(tokens: list[Token]) -> dict[int, int]:
    """Return the index of the closing bracket of each opening bracket."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.type in _OPENING:
            opened.append(at)
        elif token.type in _CLOSING and opened:
            partners[opened.pop()] = at
    return partners


def _has_statements(tokens: list[Token], at: int, closing: dict[int, int]) -> bool:
    end = closing.get(at, len(tokens))
    if at + 1 < end and tokens[at + 1].type in _STATEMENTS:
        return True
    inner = at + 1
    while inner < end:
        if tokens[inner].type in ("SEMICOLON", "EQUAL", "ASSIGN"):
            return True
        inner = closing.get(inner, inner) + 1
    return False


LONGEST: Final = 100_000
"""The most characters of an expression."""


def parse_tree(text: str) -> Node:
    """Parse an expression or a script. The root of its tree has the kind ``script``.

    :raises JexlError: with every problem found.
    """
    if len(text) > LONGEST:
        problem = Problem(f"The expression has {len(text)} characters; {LONGEST} are allowed", 1, 1)
        raise JexlError(text, [problem])
    from lark.exceptions import UnexpectedInput

    from localcdap.plugin_lib.jexl.tree_builder import TreeError

    parser = _build_parser()
    try:
        root: Any = parser.parse(text)
    except UnexpectedInput as error:
        raise JexlError(
            text, _find_unknown_tokens(parser, text) or [_describe_unexpected(error)]
        ) from None
    except TreeError as error:
        raise JexlError(text, _find_unknown_tokens(parser, text) or [error.problem]) from None
    if root.depth > DEEPEST + 2:
        message = f"The expression is nested {root.depth} levels deep; {DEEPEST} are allowed"
        raise JexlError(text, [Problem(message, 1, 1, "Set a column to a part of it first.")])
    assert isinstance(root, Node)
    return root


@functools.cache
def _build_parser() -> Lark:
    """Build the parser once in a process, which takes about 40 ms."""
    from importlib import resources

    from lark import Lark

    from localcdap.plugin_lib.jexl.functions import NAMESPACES
    from localcdap.plugin_lib.jexl.tree_builder import Builder

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text("utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        postlex=TokenClassifier(NAMESPACES),
        transformer=Builder(),
        maybe_placeholders=False,
    )


def _find_unknown_tokens(parser: Lark, text: str) -> list[Problem]:
    """Return a problem for every token that no expression can contain."""
    found: list[Problem] = []
    line = -1
    for token in parser.lex(text):
        problem = _is_unknown(token)
        if problem is not None and not (token.type == "UNKNOWN" and problem.line == line):
            found.append(problem)
            line = problem.line if token.type == "UNKNOWN" else line
    return found


def _is_unknown(token: Token) -> Problem | None:
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
        return Problem("A number is followed by characters that are not part of it", line, column)
    return Problem(f"The character {str(token)!r} cannot be used here", line, column)


def _describe_unexpected(error: Any) -> Problem:
    token = getattr(error, "token", None)
    if token is None or token.type == "$END":
        line = token.end_line or token.line if token is not None else error.line
        column = token.end_column or token.column if token is not None else error.column
        hint = "A value, a closing bracket or a part of '? :' is missing."
        return Problem("The expression ends too early", line or 1, column or 1, hint)
    hint = "An operator is missing before it, or it is not closed before."
    if str(token) == ":":
        hint = "Write the names of columns without a colon here; '? :' begins with its '?'."
    elif str(token) == "=":
        hint = "Compare values with '==' or '!='."
    return Problem(f"'{token}' is not expected here", token.line, token.column, hint)
