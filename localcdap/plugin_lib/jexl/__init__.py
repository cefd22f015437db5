"""Expressions of recipes: Apache Commons JEXL 3 as the original uses it."""

from __future__ import annotations

from localcdap.plugin_lib.jexl.errors import EvaluationError, JexlError, Problem
from localcdap.plugin_lib.jexl.expression import Batch, Expression, parse, to_truth

__all__ = ["Batch", "EvaluationError", "Expression", "JexlError", "Problem", "parse", "to_truth"]
