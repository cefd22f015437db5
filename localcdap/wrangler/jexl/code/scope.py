"""What the code of expressions calls, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.java.text import TRIMMED
from localcdap.wrangler.jexl import arithmetic, members, running
from localcdap.wrangler.jexl.errors import EvaluationError

_Function = Callable[..., Any]

BINARY: Final[dict[str, _Function]] = {
    "==": arithmetic.equals,
    "!=": arithmetic.differs,
    "..": arithmetic.make_range,
    "<": arithmetic.less,
    ">": arithmetic.greater,
    "<=": arithmetic.at_most,
    ">=": arithmetic.at_least,
    "=~": arithmetic.matches,
    "!~": arithmetic.matches_not,
    "=^": arithmetic.starts_with,
    "!^": arithmetic.starts_not_with,
    "=$": arithmetic.ends_with,
    "!$": arithmetic.ends_not_with,
    "<<": arithmetic.shift_left,
    ">>": arithmetic.shift_right,
}
CHAINS: Final[dict[str, _Function]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.modulo,
    "&": arithmetic.bit_and,
    "|": arithmetic.bit_or,
    "^": arithmetic.bit_xor,
}
UNARY: Final[dict[str, _Function]] = {
    "-": arithmetic.negate,
    "+": arithmetic.confirm,
    "~": arithmetic.complement,
}
CLASSES: Final = {
    "SUMMED": frozenset((int, str, float)),
    "COUNTED": frozenset((int, float)),
    "PLAIN": frozenset((int, str)),
    "WHOLE": frozenset((int,)),
}
"""Classes of operands for which Python's own operators answer alike."""

SCOPE: Final[dict[str, Any]] = {
    **CLASSES,
    **{
        function.__name__: function
        for operators in (BINARY, CHAINS, UNARY)
        for function in operators.values()
    },
    "truth": arithmetic.to_boolean,
    "holds": running.holds,
    "fold": running.fold,
    "is_empty": arithmetic.is_empty,
    "size": arithmetic.size,
    "quiet": running.quiet,
    "element": members.element,
    "member": members.member,
    "method": members.method,
    "path": running.path,
    "make_map": running.make_map,
    "make_set": running.make_set,
    "walk": running.walk,
    "Steps": running.Steps,
    "failed": running.failed,
    "EvaluationError": EvaluationError,
    "TRIMMED": TRIMMED,
}
