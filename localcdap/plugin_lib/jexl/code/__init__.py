"""Expressions as Python code: one function of the variables for each expression.

The code inlines the common cases (two whole numbers, two texts) and calls the operators of
:mod:`localcdap.plugin_lib.jexl.operators` for all others. It gives the same answers as they do, several
times faster.
"""

from __future__ import annotations

from localcdap.plugin_lib.jexl.code.function import Code

__all__ = ["Code"]
