"""The expressions of recipes and conditions: Apache Commons JEXL 3, with the functions of CDAP.

:func:`parse` gives an :class:`JexlExpression`, which runs on rows and batches, knows its type, and has a
    Spark form where Spark gives the same answers.
"""

from __future__ import annotations

from localcdap.plugin_lib.jexl.errors import EvaluationError, JexlError, Problem
from localcdap.plugin_lib.jexl.expression import JexlExpression, parse, to_truth

__all__ = ["EvaluationError", "JexlError", "JexlExpression", "Problem", "parse", "to_truth"]
