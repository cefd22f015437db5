"""What the code of expressions calls, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from localcdap.java.strings import TRIM_CHARACTERS
from localcdap.plugin_lib.jexl import members, running
from localcdap.plugin_lib.jexl.errors import EvaluationError
from localcdap.plugin_lib.jexl.operators import (
    arithmetic,
    bits,
    comparisons,
    conversions,
    matching,
    measures,
)

_Function = Callable[..., Any]

BINARY: Final[dict[str, _Function]] = {
    "==": comparisons.equals,
    "!=": comparisons.differs,
    "..": running.make_range,
    "<": comparisons.less,
    ">": comparisons.greater,
    "<=": comparisons.at_most,
    ">=": comparisons.at_least,
    "=~": matching.matches,
    "!~": matching.matches_not,
    "=^": matching.starts_with,
    "!^": matching.starts_not_with,
    "=$": matching.ends_with,
    "!$": matching.ends_not_with,
    "<<": bits.shift_left,
    ">>": bits.shift_right,
}
CHAINS: Final[dict[str, _Function]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.modulo,
    "&": bits.bit_and,
    "|": bits.bit_or,
    "^": bits.bit_xor,
}
UNARY: Final[dict[str, _Function]] = {
    "-": arithmetic.negate,
    "+": arithmetic.confirm,
    "~": bits.complement,
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
    "truth": conversions.to_boolean,
    "holds": running.holds,
    "fold": running.fold,
    "is_empty": measures.is_empty,
    "size": measures.size,
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
    "TRIMMED": TRIM_CHARACTERS,
}
