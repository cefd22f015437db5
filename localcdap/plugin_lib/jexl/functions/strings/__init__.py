"""``string:``: commons-lang's ``StringUtils``; most give null for null."""

from __future__ import annotations

from localcdap.plugin_lib.jexl.functions.strings import (
    abbreviating,
    blanks,
    cases,
    characters,
    comparing,
    differences,
    padding,
    positions,
    replacing,
    splitting,
    substrings,
)

__all__ = [
    "abbreviating",
    "blanks",
    "cases",
    "characters",
    "comparing",
    "differences",
    "padding",
    "positions",
    "replacing",
    "splitting",
    "substrings",
]
