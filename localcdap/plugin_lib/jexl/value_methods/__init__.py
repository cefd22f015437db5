"""The methods of values by kind: text, number, boolean, list, map, date, and those of any value."""

from localcdap.plugin_lib.jexl.value_methods import dates, texts
from localcdap.plugin_lib.jexl.value_methods.registry import METHODS, MethodsOf, get_kind

__all__ = ["METHODS", "MethodsOf", "dates", "get_kind", "texts"]
