"""How localcdap decodes JSON, MessagePack and plain values into Structs, from any thread.

msgspec builds what it knows of a Struct when the type is used for the first time, and stores it on the type
before it is complete. A second thread that decodes the same type meanwhile reads a half-built table and the
process crashes (msgspec 0.22: four threads that decode the same new type crash nearly every time). The host
works with many threads, so all decoders are made here, one after another; decoding itself takes no lock.
Nothing else in localcdap makes a decoder: a rule of the linter sees to it. The module imports nothing of
localcdap.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, overload

import msgspec
from msgspec import inspect

_T = TypeVar("_T")
DecodeHook: TypeAlias = Callable[[Any, Any], Any]
"""Takes a type that msgspec does not know, and a plain value; returns the value of that type."""
ParseFloat: TypeAlias = Callable[[str], Any]
"""Takes the literal of a number with a point or an exponent; returns its value."""


@overload
def decode_json(
    data: bytes | str, type: type[_T], *, strict: bool = True, hook: DecodeHook | None = None
) -> _T: ...
@overload
def decode_json(
    data: bytes | str,
    type: Any = Any,
    *,
    strict: bool = True,
    hook: DecodeHook | None = None,
    parse_float: ParseFloat | None = None,
) -> Any: ...
def decode_json(
    data: bytes | str,
    type: Any = Any,
    *,
    strict: bool = True,
    hook: DecodeHook | None = None,
    parse_float: ParseFloat | None = None,
) -> Any:
    """Decode JSON as a value of the given type.

    :param parse_float: makes the values of literals such as ``1.10`` that have no type.
    :raises msgspec.ValidationError: when the value is of another type; the message says where.
    :raises msgspec.DecodeError: when the data is not JSON.
    """
    return _get_json_decoder(type, strict, hook, parse_float).decode(data)


@overload
def decode_msgpack(
    data: bytes | memoryview, type: type[_T], *, hook: DecodeHook | None = None
) -> _T: ...
@overload
def decode_msgpack(
    data: bytes | memoryview, type: Any, *, hook: DecodeHook | None = None
) -> Any: ...
def decode_msgpack(data: bytes | memoryview, type: Any, *, hook: DecodeHook | None = None) -> Any:
    """Decode MessagePack as a value of the given type; raises what :func:`decode_json` raises."""
    return _get_msgpack_decoder(type, hook).decode(data)


@overload
def convert(
    value: Any, type: type[_T], *, strict: bool = True, hook: DecodeHook | None = None
) -> _T: ...
@overload
def convert(
    value: Any, type: Any, *, strict: bool = True, hook: DecodeHook | None = None
) -> Any: ...
def convert(value: Any, type: Any, *, strict: bool = True, hook: DecodeHook | None = None) -> Any:
    """Convert a value of plain types to the given type. ``strict=False`` also takes numbers as text.

    :raises msgspec.ValidationError: when the value does not fit; the message says where.
    """
    _get_msgpack_decoder(type, hook)  # makes msgspec build what it knows of the type
    return msgspec.convert(value, type, strict=strict, dec_hook=hook)


def decode_json_leniently(data: bytes, type: Any, *, hook: DecodeHook | None = None) -> Any:
    """Decode JSON as a value of the given type, as Gson reads the field of a class.

    Where a text is expected, a number or a boolean is that text, a number with the digits that it has
    (Gson ``TypeAdapters.STRING``); where a number or a boolean is expected, a text may hold it.

    >>> decode_json_leniently(b'[5, 1.10, true, "a"]', list[str])
    ['5', '1.10', 'true', 'a']

    :raises msgspec.ValidationError: when the value is of another type; the message says where.
    :raises msgspec.DecodeError: when the data is not JSON.
    :raises RecursionError: when it is nested too deeply.
    """
    try:
        return decode_json(data, type, hook=hook)
    except msgspec.ValidationError:
        value = json.loads(data, parse_float=_Literal)
        value = _read_scalars(value, inspect.type_info(type))
        return convert(value, type, strict=False, hook=hook)


class _Literal(str):
    """The digits of a number with a fraction or an exponent."""


def _read_scalars(value: Any, wanted: inspect.Type | None) -> Any:
    """Return a value with texts for the scalars of which a type wants the text; None is any type."""
    members = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    if isinstance(value, list):
        items = [getattr(each, "item_type", None) for each in members]
        item = next(filter(None, items), None)
        return [_read_scalars(each, item) for each in value]
    if isinstance(value, dict):
        types = _find_value_types(members)
        return {name: _read_scalars(each, types(name)) for name, each in value.items()}
    if isinstance(value, (int, float, _Literal)) and any(
        isinstance(each, inspect.StrType) for each in members
    ):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return float(value) if isinstance(value, _Literal) else value


def _find_value_types(
    members: Sequence[inspect.Type | None],
) -> Callable[[str], inspect.Type | None]:
    """Return what finds the type of a member of an object by its name."""
    for each in members:
        if isinstance(each, inspect.DictType):
            value_type = each.value_type
            return lambda _: value_type
        if isinstance(each, (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)):
            return {field.encode_name: field.type for field in each.fields}.get
    return lambda _: None


def check_type(type: Any) -> None:
    """Check that JSON can be decoded as a type.

    :raises TypeError: when it cannot; the message says why.
    """
    _get_json_decoder(type, True, None, None)


# A lock that its holder may take again: an annotation that is evaluated may import a module.
_LOCK = threading.RLock()


@lru_cache(maxsize=1024)
def _get_json_decoder(
    type: Any, strict: bool, hook: DecodeHook | None, parse_float: ParseFloat | None
) -> msgspec.json.Decoder[Any]:
    with _LOCK:
        return msgspec.json.Decoder(type, strict=strict, dec_hook=hook, float_hook=parse_float)


@lru_cache(maxsize=1024)
def _get_msgpack_decoder(type: Any, hook: DecodeHook | None) -> msgspec.msgpack.Decoder[Any]:
    with _LOCK:
        return msgspec.msgpack.Decoder(type, dec_hook=hook)
