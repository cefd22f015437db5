"""Methods of lists and maps (``java.util.List``, ``Map``), and those of rows."""

from __future__ import annotations

from typing import Any

from localcdap.plugin_lib.jexl.methods.declaring import MethodsOf

listed = MethodsOf("list")
mapped = MethodsOf("map")


def _get(values: Any, at: int) -> Any:
    if not 0 <= at < len(values):
        raise ValueError(f"the list has {len(values)} elements, none at {at}")
    return values[at]


def _index(values: Any, wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if value == wanted), -1)


def _entry(values: Any, key: Any) -> Any:
    if isinstance(key, int) and key not in values:
        return _get(list(values.values()), key)
    look_up = getattr(values, "value", None)
    return look_up(key) if look_up is not None and isinstance(key, str) else values.get(key)


listed("-> I", "size", "length")(len)
listed("-> B", "isEmpty")(lambda values: not values)
listed("I -> O", "get", "getAsString")(_get)
listed("O -> B", "contains")(lambda values, wanted: wanted in values)
listed("A -> B", "containsAll")(lambda values, wanted: all(one in values for one in wanted))
listed("O -> I", "indexOf")(_index)
listed("I I -> A", "subList")(lambda values, start, end: list(values)[start:end])
mapped("-> I", "size", "width", "length")(len)
mapped("-> B", "isEmpty")(lambda values: not values)
mapped("O -> O", "get", "getValue")(_entry)
mapped("O O -> O", "getOrDefault")(lambda values, key, default: values.get(key, default))
mapped("O -> B", "containsKey", "has")(lambda values, key: key in values)
mapped("O -> B", "containsValue")(lambda values, value: value in list(values.values()))
mapped("-> A", "keySet", "keys")(list)
mapped("-> A", "values")(lambda values: list(values.values()))
mapped("S -> I", "find")(lambda row, name: _index([key.lower() for key in row], name.lower()))
mapped("I -> S", "getColumn")(lambda row, at: _get(list(row), at))
