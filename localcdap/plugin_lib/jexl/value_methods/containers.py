"""Methods of lists, maps and rows: those of Java's ``List`` and ``Map`` and of Wrangler's ``Row``.

As in Java, a method that changes a list or a map changes the value that the record has.
"""

from __future__ import annotations

from typing import Any, Final

from localcdap.plugin_lib.jexl.value_methods.registry import MethodsOf

listed = MethodsOf("list")
mapped = MethodsOf("map")

_MOST_ELEMENTS: Final = 10_000_000
"""A list that grows without an end must not take all memory."""


def _get(values: Any, at: int) -> Any:
    if not 0 <= at < len(values):
        raise ValueError(f"the list has {len(values)} elements, none at {at}")
    return values[at]


def _index(values: Any, wanted: Any) -> int:
    return next((at for at, value in enumerate(values) if value == wanted), -1)


def _last_index(values: Any, wanted: Any) -> int:
    return next((at for at in range(len(values) - 1, -1, -1) if values[at] == wanted), -1)


def _require_list(values: Any) -> list[Any]:
    if isinstance(values, list):
        if len(values) > _MOST_ELEMENTS:
            raise ValueError(f"the list has more than {_MOST_ELEMENTS} elements")
        return values
    raise ValueError("the values cannot be changed")


def _add(values: Any, value: Any) -> bool:
    if isinstance(values, set):
        is_new = value not in values
        values.add(value)
        return is_new
    _require_list(values).append(value)
    return True


def _insert(values: Any, at: int, value: Any) -> None:
    if not 0 <= at <= len(values):
        raise ValueError(f"the list has {len(values)} elements, so none can be added at {at}")
    _require_list(values).insert(at, value)


def _add_all(values: Any, others: Any) -> bool:
    found = list(others)
    _require_list(values).extend(found)
    return bool(found)


def _insert_all(values: Any, at: int, others: Any) -> bool:
    found = list(others)
    if not 0 <= at <= len(values):
        raise ValueError(f"the list has {len(values)} elements, so none can be added at {at}")
    _require_list(values)[at:at] = found
    return bool(found)


def _set(values: Any, at: int, value: Any) -> Any:
    before = _get(values, at)
    _require_list(values)[at] = value
    return before


def _remove_at(values: Any, at: int) -> Any:
    _get(values, at)
    return _require_list(values).pop(at)


def _remove_value(values: Any, wanted: Any) -> bool:
    if isinstance(values, set):
        found = wanted in values
        values.discard(wanted)
        return found
    at = _index(values, wanted)
    if at >= 0:
        del _require_list(values)[at]
    return at >= 0


def _keep(values: Any, wanted: Any, *, present: bool) -> bool:
    kept = [value for value in values if (value in wanted) is present]
    is_changed = len(kept) != len(values)
    _require_list(values)[:] = kept
    return is_changed


def _sort(values: Any, comparator: Any) -> None:
    if comparator is not None:
        raise ValueError("a Comparator cannot be given; null sorts in the natural order")
    _require_list(values).sort()


def _cut(values: Any, start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"a list of {len(values)} elements has none from {start} to {end}")
    return list(values)[start:end]


listed("-> I", "size", "length")(len)
listed("-> B", "isEmpty")(lambda values: not values)
listed("I -> O", "get", "getAsString")(_get)
listed("O -> B", "contains")(lambda values, wanted: wanted in values)
listed("A -> B", "containsAll")(lambda values, wanted: all(one in values for one in wanted))
listed("O -> I", "indexOf")(_index)
listed("O -> I", "lastIndexOf")(lambda values, wanted: _last_index(list(values), wanted))
listed("I I -> A", "subList")(_cut)
listed("O -> B", "add")(_add)
listed("I O -> O", "add")(_insert)
listed("A -> B", "addAll")(_add_all)
listed("I A -> B", "addAll")(_insert_all)
listed("I O -> O", "set")(_set)
listed("I -> O", "remove")(_remove_at)
listed("O -> B", "remove")(_remove_value)
listed("A -> B", "removeAll")(lambda values, wanted: _keep(values, wanted, present=False))
listed("A -> B", "retainAll")(lambda values, wanted: _keep(values, wanted, present=True))
listed("-> O", "clear")(lambda values: values.clear())
listed("-> A", "toArray", "clone")(list)
listed("O -> O", "sort")(_sort)


def _get_entry(values: Any, key: Any) -> Any:
    if isinstance(key, int) and key not in values:
        return _get(list(values.values()), key)
    look_up = getattr(values, "value", None)
    return look_up(key) if look_up is not None and isinstance(key, str) else values.get(key)


def _put(values: Any, key: Any, value: Any) -> Any:
    before = values.get(key)
    values[key] = value
    return before


def _put_if_absent(values: Any, key: Any, value: Any) -> Any:
    before = values.get(key)
    if before is None:
        values[key] = value
    return before


def _put_all(values: Any, others: Any) -> None:
    if not isinstance(others, dict):
        raise ValueError("the other value is not a map")
    values.update(others)


def _remove_key(values: Any, key: Any) -> Any:
    """Remove an entry. Rows find their columns without regard to case."""
    find = getattr(values, "find", None)
    if find is not None and isinstance(key, str):
        key = find(key)
    return values.pop(key, None)


def _remove_entry(values: Any, key: Any, value: Any) -> bool:
    is_there = key in values and values[key] == value
    if is_there:
        del values[key]
    return is_there


def _replace_entry(values: Any, key: Any, value: Any) -> Any:
    return _put(values, key, value) if key in values else None


def _replace_value(values: Any, key: Any, old: Any, value: Any) -> bool:
    is_there = key in values and values[key] == old
    if is_there:
        values[key] = value
    return is_there


mapped("-> I", "size", "width", "length")(len)
mapped("-> B", "isEmpty")(lambda values: not values)
mapped("O -> O", "get", "getValue")(_get_entry)
mapped("O O -> O", "getOrDefault")(lambda values, key, default: values.get(key, default))
mapped("O -> B", "containsKey", "has")(lambda values, key: key in values)
mapped("O -> B", "containsValue")(lambda values, value: value in list(values.values()))
mapped("-> A", "keySet", "keys")(list)
mapped("-> A", "values")(lambda values: list(values.values()))
mapped("-> A", "entrySet")(
    lambda values: [{"key": key, "value": value} for key, value in values.items()]
)
mapped("S -> I", "find")(lambda row, name: _index([key.lower() for key in row], name.lower()))
mapped("I -> S", "getColumn")(lambda row, at: _get(list(row), at))
mapped("O O -> O", "put")(_put)
mapped("O O -> O", "putIfAbsent")(_put_if_absent)
mapped("O -> O", "putAll")(_put_all)
mapped("O -> O", "remove")(_remove_key)
mapped("O O -> B", "remove")(_remove_entry)
mapped("O O -> O", "replace")(_replace_entry)
mapped("O O O -> B", "replace")(_replace_value)
mapped("-> O", "clear")(lambda values: values.clear())
mapped("-> O", "clone")(dict)
