"""What the values of a column are like: its profile, from Arrow; and the rows that a screen shows."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema, Type
from localcdap.api.record_json import encode_json_record
from localcdap.java.strings import to_java_string
from localcdap.plugin_lib.wrangler.semantic_types.findings import find_meaning
from localcdap.plugin_lib.wrangler.values.date_forms import find_date_forms
from localcdap.plugin_lib.wrangler.workspaces.tables import MISSING, Column, ColumnTable
from localcdap.workspace_views import ColumnView, ValueCount, ValueSummary, ViewRequest

if TYPE_CHECKING:
    import pyarrow as pa


_PROFILE: Final = "profile"
_FREQUENT: Final = "frequent"
"""The most frequent texts of a column."""
_MEANING: Final = "meaning"
_TOP: Final = 20
_BARS: Final = 10
_LONGEST: Final = 200
"""Characters of a value that is shown."""
_FORMED: Final = 40
"""The most frequent values whose forms are counted: with 100, a column of 1,000 texts takes 0.1 ms more."""
_SEPARATOR: Final = "\0"
"""Between texts whose forms are found together; it stands for itself in a form."""
_REPEATED: Final = re.compile("AA+|aa+|99+")


class _Kinds(dict[int, str]):
    """What stands for a character in a form."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        found = character
        if character.isdecimal():
            found = "9"
        elif character.isalpha():
            found = "A" if character.isupper() else "a"
        self[code] = found
        return found


_KINDS: Final = _Kinds()


def summarize_column(column: Column, name: str = "") -> ValueSummary:
    """Return the profile of a column; that of a column which steps share is found once.

    :param name: the name of the column, which may say what its values mean.
    """
    if _PROFILE not in column.facts:
        column.facts[_PROFILE] = _profile(column)
    found = find_summary(column, name)
    assert found is not None
    return found


def find_summary(column: Column, name: str = "") -> ValueSummary | None:
    """Return the profile of a column if it was made before; see :func:`summarize_column`."""
    found: ValueSummary | None = column.facts.get(_PROFILE)
    if found is None or _FREQUENT not in column.facts:
        return found
    key = f"{_MEANING} {name}"
    if key not in column.facts:
        column.facts[key] = find_meaning(name, column.facts[_FREQUENT])
    return msgspec.structs.replace(found, meaning=column.facts[key])


def format_shown_value(value: Any) -> str | None:
    """Return a value as cells show it; None for null and a missing value."""
    if value is None or value is MISSING:
        return None
    if isinstance(value, list | tuple | dict):
        text = msgspec.json.encode(encode_json_record(value)).decode()
    else:
        text = value if isinstance(value, str) else to_java_string(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def describe_type(schema: Schema) -> str:
    """Return the name of a type, as headers show it."""
    return schema.non_nullable.display_name


def describe_form(text: str) -> str:
    """Return the form of a text: ``Aa 9`` of ``Route 66``."""
    return _REPEATED.sub(_take_first, text.translate(_KINDS))


def _take_first(run: re.Match[str]) -> str:
    return run[0][0]


def _profile(column: Column) -> ValueSummary:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    array, kind = column.array, column.schema.non_nullable
    if kind.type in (Type.ARRAY, Type.MAP, Type.RECORD, Type.UNION):
        array = pa.array([format_shown_value(each) for each in column.values], pa.string())
        kind = Schema.STRING
    counted = pc.value_counts(array.drop_null())
    values, counts = counted.field("values"), counted.field("counts")
    profile = ValueSummary(len(array), array.null_count, 0, len(values))
    order = np.argsort(-counts.to_numpy(), kind="stable")[:_FORMED]
    frequent, often = values.take(order).to_pylist(), counts.take(order).to_pylist()
    profile.top = [
        ValueCount(format_shown_value(value) or "", count)
        for value, count in zip(frequent[:_TOP], often[:_TOP], strict=True)
    ]
    if kind == Schema.STRING:
        blank = pc.equal(pc.utf8_trim_whitespace(values), "")
        profile.empty = pc.sum(counts.filter(blank)).as_py() or 0
        profile.bars = [each.count for each in profile.top[:_BARS]]
        profile.patterns, profile.formed = _count_forms(frequent, often), len(frequent)
        profile.date_forms = find_date_forms(frequent)
        column.facts[_FREQUENT] = frequent
    if len(values):
        _add_range(profile, array, values, kind)
    return profile


def _add_range(profile: ValueSummary, array: pa.Array, values: pa.Array, kind: Schema) -> None:
    """Add the range of the values of a column, and how they are spread over it.

    :param values: those of the array without repetitions.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_binary(array.type) or pa.types.is_boolean(array.type):
        return
    range = pc.min_max(values).as_py()
    profile.lowest, profile.highest = (
        format_shown_value(range["min"]),
        format_shown_value(range["max"]),
    )
    if kind != Schema.STRING:
        profile.bars = _count_bars(array)


def _count_bars(array: pa.Array) -> list[int]:
    """Return how many values are in each tenth of their range; NaN and infinite ones in none."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(array.type) or pa.types.is_floating(array.type):
        numbers = pc.cast(array, pa.float64(), safe=False)
    elif pa.types.is_date32(array.type) or pa.types.is_time(array.type):
        numbers = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    else:
        numbers = array.cast(pa.int64())
    found = numbers.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
    found = found[np.isfinite(found)]
    if not len(found):
        return []
    low, high = float(found.min()), float(found.max())
    if low == high or not np.isfinite(high - low):
        return [len(found)]
    # Not numpy's histogram, which takes three times as long for a thousand values.
    places = ((found - low) / (high - low) * _BARS).astype(np.int64)
    return [int(each) for each in np.bincount(np.minimum(places, _BARS - 1), minlength=_BARS)]


def _count_forms(values: list[str], counts: list[int]) -> list[ValueCount]:
    found: dict[str, int] = {}
    shown = [value[:_LONGEST] for value in values]
    # Of all texts together, which takes a third of the time.
    forms = describe_form(_SEPARATOR.join(shown)).split(_SEPARATOR)
    if len(forms) != len(shown):  # a text has the separator in it
        forms = list(map(describe_form, shown))
    for text, count in zip(forms, counts, strict=True):
        found[text] = found.get(text, 0) + count
    order = sorted(found.items(), key=lambda each: -each[1])
    return [ValueCount(text, count) for text, count in order[:5]]


def describe_columns(
    table: ColumnTable, schema: Schema | None, request: ViewRequest
) -> list[ColumnView]:
    """Return the columns that are shown, those with profiles for which the time suffices."""
    shown = list(schema or ())[choose_columns(request)]
    seconds = request.profile_seconds
    until = math.inf if seconds is None else time.monotonic() + seconds
    found: dict[str, ValueSummary | None] = {}
    is_first = True
    for field in [*shown[request.nearest :], *shown[: request.nearest]]:
        if request.profiles is not None and field.name not in request.profiles:
            continue
        column = table.columns[field.name]
        summary = find_summary(column, field.name)
        if summary is None and (is_first or time.monotonic() < until):
            summary = summarize_column(column, field.name)
            is_first = False
        found[field.name] = summary
    return [
        ColumnView(each.name, describe_type(each.schema), found.get(each.name)) for each in shown
    ]


def choose_columns(request: ViewRequest) -> slice:
    """Return which columns are shown."""
    first = max(0, request.first_column)
    return slice(first, first + max(0, request.most_columns))


def show_rows(
    table: ColumnTable, request: ViewRequest, kept: Sequence[int] | None
) -> list[list[str | None]]:
    """Return the cells of the rows that are shown.

    :param kept: the indices of the rows that facets keep; None for all.
    """
    order: Sequence[int] = range(len(table)) if kept is None else kept
    if request.sort in table.columns:
        order = _sort(table, request.sort, is_descending=request.is_descending)
        if kept is not None:
            wanted = set(kept)
            order = [each for each in order if each in wanted]
    shown = order[max(0, request.offset) :][: max(0, request.limit)]
    columns = [column.values for column in list(table.columns.values())[choose_columns(request)]]
    return [[format_shown_value(values[index]) for values in columns] for index in shown]


def _sort(table: ColumnTable, name: str, *, is_descending: bool) -> list[int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = table.columns[name].array
    if pa.types.is_nested(array.type):
        array = pa.array(
            [format_shown_value(each) for each in table.columns[name].values], pa.string()
        )
    order = "descending" if is_descending else "ascending"
    found: list[int] = pc.sort_indices(array, sort_keys=[("", order)]).to_pylist()
    return found
