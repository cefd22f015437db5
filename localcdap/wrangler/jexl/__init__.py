"""Expressions of recipes: Apache Commons JEXL 3 as the original uses it."""

from __future__ import annotations

from localcdap.wrangler.jexl.errors import EvaluationError, JexlError, Problem
from localcdap.wrangler.jexl.expression import Batch, Expression, parse, truth

__all__ = ["Batch", "EvaluationError", "Expression", "JexlError", "Problem", "parse", "truth"]
