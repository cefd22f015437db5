"""Expressions as Python code: one function of the variables of each.

The code has the common cases in line (two whole numbers, two texts) and calls the operators of
:mod:`localcdap.plugin_lib.jexl.operators` for all others, so it answers as they do, some times faster.
"""

from __future__ import annotations

from localcdap.plugin_lib.jexl.code.function import Code

__all__ = ["Code"]
