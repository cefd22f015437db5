"""The methods of values, by the kind of the value."""

from __future__ import annotations

from localcdap.plugin_lib.jexl.methods import any_value, collections, dates, numbers, texts
from localcdap.plugin_lib.jexl.methods.declaring import METHODS, kind_of

__all__ = ["METHODS", "any_value", "collections", "dates", "kind_of", "numbers", "texts"]
