"""Facets: how the rows are spread over the values of a column, several columns at once.

Each facet puts every row into one of its bins, so that the counts of its bins sum to the rows. A bin that
is chosen keeps its rows; the counts of a facet are those of the rows that all other facets keep. A bin whose
rows an expression can select has the condition, of which a directive is made.

Rows that are there several times, in all or in some of their columns.

In a condition, the character NUL stands for the name of the column, which may be renamed while the bins stay.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from localcdap.api import Schema, Type
from localcdap.plugin_lib.wrangler.workspaces.profiles import format_shown_value
from localcdap.plugin_lib.wrangler.workspaces.tables import Column, ColumnTable
from localcdap.workspace_views import Facet, FacetBin, FacetView

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


KINDS: Final = {
    "values": "values",
    "range": "ranges",
    "year": "years",
    "month": "months",
    "form": "forms of texts",
    "length": "lengths",
    "state": "null, blank and other values",
}
"""The kinds of facets of one column, with what they show."""
_MOST: Final = 60
"""Bins of values and forms; the others are one bin."""
_RANGES: Final = 12
"""About how many ranges there are."""
_LONGEST: Final = 100
"""Characters of a text that a condition quotes."""
_BLANKS: Final = "".join(map(chr, range(33)))
"""What ``trim`` of expressions drops."""
_NUMBER: Final = "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)"
_UPPER, _LOWER, _DIGIT = "\\p{Lu}", "[\\p{Ll}\\p{Lt}\\p{Lm}\\p{Lo}]", "\\p{Nd}"
_FORMS: Final = {"A": _UPPER, "a": _LOWER, "9": _DIGIT}
"""By what stands in a form, the characters that it stands for."""


class Bin(msgspec.Struct, frozen=True):
    """Some of the rows."""

    key: str
    label: str
    condition: str | None = None
    stays: bool = False
    """Whether it is shown without rows."""


class Bins(msgspec.Struct, frozen=True):
    """The bins of a column, and for each row the place of its bin among them."""

    bins: list[Bin]
    places: Any
    """An array of numpy, of whole numbers."""


_NULL_BIN: Final = Bin("null", "null", "\0 == null")


def find_kinds(column: Column) -> list[str]:
    """Return the kinds of facets that a column has, the most useful one first."""
    column.array  # noqa: B018 - values that do not fit their type make the column one of texts
    kind = column.schema.non_nullable
    if kind == Schema.STRING:
        return ["values", "form", "length", "state"]
    is_plain_number = kind.type in (Type.LONG, Type.INT, Type.FLOAT, Type.DOUBLE)
    if (is_plain_number and kind.logical_type is None) or kind.scale is not None:
        return ["range", "values", "state"]
    if kind in (Schema.TIMESTAMP, Schema.DATE, Schema.DATETIME):
        return ["year", "month", "values", "state"]
    return ["values", "state"]


def make_facet_bins(column: Column, kind: str) -> Bins:
    """Return the bins of a column.

    :param kind: one of :func:`find_kinds`.
    """
    made = _MAKERS[kind](column)
    if column.schema.non_nullable == Schema.STRING and not (
        set(map(type, column.values)) <= {str, type(None)}
    ):
        # Texts only because the values have no type in common: expressions fail to compare some of them.
        bins = [each if each == _NULL_BIN else replace(each, condition=None) for each in made.bins]
        return Bins(bins, made.places)
    return made


def _make_value_bins(column: Column) -> Bins:
    import pyarrow as pa

    array = get_plain_array(column)
    has_literals = not pa.types.is_nested(column.array.type)
    codes, values = encode(array)
    plain = values.to_pylist()

    def describe(place: int) -> Bin:
        value = plain[place]
        shown = format_shown_value(value) or "(empty)"
        condition = _write_equality(value) if has_literals else None
        return Bin(f"={value!r}", shown, condition)

    return _take_frequent(codes, len(plain), describe)


def _make_form_bins(column: Column) -> Bins:
    import pyarrow.compute as pc

    codes, values = encode(column.array)
    for kind, pattern in _FORMS.items():
        values = pc.replace_substring_regex(values, f"{pattern}+", kind)
    forms, of_value = _unify(values)
    places = _map_codes(of_value, codes)

    def describe(place: int) -> Bin:
        form = forms[place]
        return Bin(f"~{form}", format_shown_value(form) or "(empty)", _write_form(form))

    return _take_frequent(places, len(forms), describe)


def _make_length_bins(column: Column) -> Bins:
    import numpy as np

    codes, values = encode(column.array)
    lengths = np.fromiter(
        (len(each.encode("utf-16-le", "surrogatepass")) // 2 for each in values.to_pylist()),
        np.int64,
        len(values),
    )
    return _divide(_map_codes(lengths, codes), codes < 0, "\0.length()", is_whole=True)


def _make_range_bins(column: Column) -> Bins:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.array
    is_null = np.asarray(pc.is_null(array))
    is_whole = pa.types.is_integer(array.type)
    if is_whole:
        numbers = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    else:
        if pa.types.is_decimal(array.type):  # Arrow's own cast makes 2.5100000000000002 of 2.51
            doubles = [None if each is None else float(each) for each in array.to_pylist()]
            array = pa.array(doubles, pa.float64())
        numbers = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False)
    return _divide(numbers, is_null, "\0", is_whole=is_whole)


def _make_year_bins(column: Column) -> Bins:
    return _make_time_bins(column, has_months=False)


def _make_month_bins(column: Column) -> Bins:
    return _make_time_bins(column, has_months=True)


def _make_time_bins(column: Column, *, has_months: bool) -> Bins:
    import numpy as np
    import pyarrow.compute as pc

    array = column.array
    is_null = np.asarray(pc.is_null(array))
    years = pc.fill_null(pc.year(array), 0).to_numpy(zero_copy_only=False)
    months = pc.fill_null(pc.month(array), 1).to_numpy(zero_copy_only=False)
    numbers = years * 12 + months - 1 if has_months else years
    found, places = np.unique(numbers[~is_null], return_inverse=True)
    bins = []
    for number in found.tolist():
        year, month = divmod(number, 12) if has_months else (number, None)
        label = f"{year:04}" if month is None else f"{year:04}-{month + 1:02}"
        more = "" if month is None else f" && \0.getMonthValue() == {month + 1}"
        bins.append(Bin(label, label, f"\0 != null && \0.getYear() == {year}{more}"))
    every = np.full(len(array), len(bins), np.int64)
    every[~is_null] = places
    return Bins([*bins, _NULL_BIN], every)


def _make_state_bins(column: Column) -> Bins:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    array = get_plain_array(column)
    places = np.full(len(array), 1, np.int64)
    places[np.asarray(pc.is_null(array))] = 0
    null = Bin("null", "null", "\0 == null", stays=True)
    if not pa.types.is_string(column.array.type):
        bins = [null, Bin("value", "values", "\0 != null", stays=True)]
        if pa.types.is_floating(array.type):
            numbers = pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False)
            bins += _mark_odd_numbers(numbers, places, 2)
            others = " && ".join(f"!({each.condition})" for each in bins[2:])
            bins[1] = Bin("value", "numbers", f"\0 != null && {others}", stays=True)
        return Bins(bins, places)
    blank = pc.equal(pc.utf8_trim(array, _BLANKS), "")
    number = pc.match_substring_regex(array, rf"\A{_NUMBER}\z")
    places[np.asarray(pc.fill_null(blank, fill_value=False))] = 2
    places[np.asarray(pc.fill_null(number, fill_value=False))] = 3
    is_number = f"\0 =~ '{_NUMBER}'"
    text = f"\0 != null && !\0.trim().empty() && !({is_number})"
    return Bins(
        [
            null,
            Bin("text", "texts", text, stays=True),
            Bin("blank", "blank", "\0 != null && \0.trim().empty()", stays=True),
            Bin("number", "numbers in text", f"\0 != null && {is_number}", stays=True),
        ],
        places,
    )


_MAKERS: Final[dict[str, Callable[[Column], Bins]]] = {
    "values": _make_value_bins,
    "range": _make_range_bins,
    "year": _make_year_bins,
    "month": _make_month_bins,
    "form": _make_form_bins,
    "length": _make_length_bins,
    "state": _make_state_bins,
}


def get_plain_array(column: Column) -> pa.Array:
    """Return the values; those that Arrow cannot compare as texts, 0 for -0, and one NaN for every NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.array.type):
        numbers = pc.add(column.array, 0.0)
        return pc.if_else(pc.is_nan(numbers), math.nan, numbers)
    if pa.types.is_nested(column.array.type):
        return pa.array([format_shown_value(each) for each in column.values], pa.string())
    return column.array


def encode(array: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return for each value the place of its like in an array without repetitions; -1 for null."""
    import pyarrow.compute as pc

    encoded = array.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return codes, encoded.dictionary


def _unify(values: pa.Array) -> tuple[list[str], np.ndarray]:
    codes, found = encode(values)
    return found.to_pylist(), codes


def _map_codes(of_value: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return what belongs to each row; -1 for null."""
    import numpy as np

    if not len(of_value):
        return np.full(len(codes), -1, np.int64)
    return np.where(codes < 0, -1, of_value[codes])


def _take_frequent(codes: np.ndarray, count: int, describe: Callable[[int], Bin]) -> Bins:
    """Return a bin for each of the most frequent codes, one for the others, and one for null.

    :param codes: from 0; -1 for null.
    """
    import numpy as np

    counts = np.bincount(codes[codes >= 0], minlength=count)
    order = np.argsort(-counts, kind="stable")
    frequent = order[:_MOST]
    place_of = np.full(count + 1, len(frequent), np.int64)
    place_of[frequent] = np.arange(len(frequent))
    place_of[-1] = len(frequent) + 1  # where -1 points to
    others = Bin("others", f"{max(0, count - _MOST):,} others")
    bins = [*map(describe, frequent.tolist()), others, _NULL_BIN]
    return Bins(bins, place_of[codes])


def _mark_odd_numbers(numbers: np.ndarray, places: np.ndarray, first: int) -> list[Bin]:
    """Put NaN and infinite numbers into bins of their own, from a place on, and return them."""
    import numpy as np

    places[np.isnan(numbers)] = first
    places[np.isinf(numbers)] = first + 1
    most = "1.7976931348623157E308"
    return [
        Bin("nan", "NaN", "\0 != null && empty(\0) && !(\0 == 0)"),
        Bin("infinite", "infinite", f"\0 != null && !empty(\0) && (\0 > {most} || \0 < -{most})"),
    ]


def _divide(numbers: np.ndarray, is_null: np.ndarray, term: str, *, is_whole: bool) -> Bins:
    """Return ranges of about the same width with round limits.

    :param term: the expression of the number.
    """
    import numpy as np

    odd = np.zeros(len(numbers), bool) if is_whole else ~np.isfinite(numbers)
    used = numbers[~is_null & ~odd]
    limits = _find_limits(used, is_whole=is_whole) if len(used) else []
    count = max(0, len(limits) - 1)
    places = np.searchsorted(np.array(limits[:-1], numbers.dtype), numbers, side="right") - 1
    bins = [_describe_range(term, limits, n, is_whole=is_whole) for n in range(count)]
    if not is_whole:
        bins += _mark_odd_numbers(numbers, places, count)
    places[is_null] = len(bins)
    return Bins([*bins, _NULL_BIN], places)


def _find_limits(numbers: np.ndarray, *, is_whole: bool) -> list[Any]:
    """Return the lower limits of ranges, and the highest number at the end."""
    low, high = numbers.min().item(), numbers.max().item()
    distance = high - low
    if distance == 0 or not math.isfinite(distance):
        return [low, high]
    power = 10.0 ** math.floor(math.log10(distance / _RANGES))
    width = next(power * step for step in (1, 2, 5, 10) if distance / (power * step) <= _RANGES)
    if is_whole:
        whole = max(1, round(width))
        start = low // whole * whole
        return [*range(start, high + 1, whole), high]
    first = math.floor(low / width)
    limits: list[Any] = []
    while first * width <= high and len(limits) <= 2 * _RANGES:
        limits.append(float(f"{first * width:.12g}"))
        first += 1
    start = limits[0] if limits and -math.inf < limits[0] <= low else low
    return [start, *(each for each in limits if start < each <= high), high]


def _describe_range(term: str, limits: Sequence[Any], n: int, *, is_whole: bool) -> Bin:
    low, high = limits[n], limits[n + 1]
    is_last = n == len(limits) - 2
    guard = "\0 != null && "
    if is_whole:
        end = high if is_last else high - 1
        label = f"{low:,}" if low == end else f"{low:,} … {end:,}"
        return Bin(f"{low}", label, f"{guard}{term} >= {low} && {term} <= {end}")
    sign = "<=" if is_last else "<"
    label = f"{low:,.12g}" if low == high else f"{low:,.12g} … {high:,.12g}"
    return Bin(f"{low!r}", label, f"{guard}{term} >= {low!r} && {term} {sign} {high!r}")


def _write_equality(value: Any) -> str | None:
    """Return the condition for a value; None for one that expressions cannot write."""
    if isinstance(value, bool):
        return f"\0 == {str(value).lower()}"
    if isinstance(value, int):
        return f"\0 == {value}"
    if isinstance(value, float):
        return f"\0 == {value!r}" if math.isfinite(value) else None
    if not isinstance(value, str) or not _can_quote(value):
        return None
    return f"\0 == {_quote_jexl_text(value)}"


def _write_form(form: str) -> str | None:
    if not _can_quote(form):
        return None
    pattern = "".join(f"{_FORMS[each]}+" if each in _FORMS else re.escape(each) for each in form)
    return f"\0 != null && \0 =~ {_quote_jexl_text(pattern)}"


def _can_quote(text: str) -> bool:
    """Return whether a text can stand in a directive, in which ``${`` begins a macro."""
    return len(text) <= _LONGEST and text.isprintable() and "${" not in text


def _quote_jexl_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


DUPLICATES: Final = "duplicates"
"""The kind of the facet. Recipes have no directive that drops duplicates, so its bins have no conditions."""


def find_duplicates(table: ColumnTable, names: str) -> Bins | str:
    """Return which rows are there once, first of several, or again; or why that cannot be said.

    :param names: of the columns that are compared, separated by commas; "" for all.
    """
    import numpy as np

    chosen = names.split(",") if names else list(table.columns)
    missing = [name for name in chosen if name not in table.columns]
    if missing:
        return f"there is no column {missing[0]}"
    groups = np.zeros(len(table), np.int64)
    for name in chosen:
        codes = _code(table.columns[name])
        _, groups = np.unique(groups * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    places = np.where(counts[groups] > 1, 2, 0)
    places[first[counts > 1]] = 1
    bins = [
        Bin("once", "once", stays=True),
        Bin("first", "first of several", stays=True),
        Bin("again", "again", stays=True),
    ]
    return Bins(bins, places)


def _code(column: Column) -> np.ndarray:
    """Return a whole number from 0 for each value; null is a value too."""
    codes, _ = encode(get_plain_array(column))
    return codes.astype("int64") + 1


_NAME: Final = re.compile(r"[a-zA-Z_]\w*", re.ASCII)
"""What expressions take for a name; a hyphen is a minus there."""


class FacetResult(msgspec.Struct):
    """All facets of a view, and the rows that they keep."""

    views: list[FacetView]
    rows: Sequence[int] | None
    """The indices of the rows that are kept; None for all."""


def apply_facets(table: ColumnTable, facets: Sequence[Facet]) -> FacetResult:
    """Return the counts of facets, and the rows that all of them keep."""
    import numpy as np

    if not facets:
        return FacetResult([], None)
    found = [_find_bins(table, facet) for facet in facets]
    masks = [_keep(facet, bins) for facet, bins in zip(facets, found, strict=True)]
    views = []
    for place, (facet, bins) in enumerate(zip(facets, found, strict=True)):
        others = [mask for n, mask in enumerate(masks) if n != place and mask is not None]
        views.append(_count(facet, bins, np.logical_and.reduce(others) if others else None))
    kept = [mask for mask in masks if mask is not None]
    if not kept:
        return FacetResult(views, None)
    rows: list[int] = np.flatnonzero(np.logical_and.reduce(kept)).tolist()
    return FacetResult(views, rows)


def list_facet_kinds(column: Column) -> list[str]:
    """Return the kinds of facets that fit a column, the most useful one first."""
    return [*find_kinds(column), DUPLICATES]


def _find_bins(table: ColumnTable, facet: Facet) -> Bins | str:
    """Return the bins of a facet, or why it has none."""
    if facet.kind == DUPLICATES:
        return find_duplicates(table, facet.column)
    column = table.columns.get(facet.column)
    if column is None:
        return f"there is no column {facet.column}"
    if facet.kind not in find_kinds(column):
        return f"{facet.column} has no {KINDS.get(facet.kind, facet.kind)} now"
    name = f"facet {facet.kind}"
    bins: Bins | None = column.facts.get(name)
    if bins is None:
        bins = column.facts[name] = make_facet_bins(column, facet.kind)
    return bins


def _keep(facet: Facet, bins: Bins | str) -> np.ndarray | None:
    """Return which rows a facet keeps; None when it keeps all."""
    import numpy as np

    if isinstance(bins, str) or not facet.chosen:
        return None
    chosen = [place for place, each in enumerate(bins.bins) if each.key in facet.chosen]
    return np.isin(bins.places, chosen)


def _count(facet: Facet, bins: Bins | str, mask: np.ndarray | None) -> FacetView:
    import numpy as np

    if isinstance(bins, str):
        return FacetView(facet.column, facet.kind, problem=bins)
    places = bins.places if mask is None else bins.places[mask]
    counts = np.bincount(places, minlength=len(bins.bins))
    shown = [_show(each, int(count), facet) for each, count in zip(bins.bins, counts, strict=True)]
    return FacetView(facet.column, facet.kind, [each for each in shown if each is not None])


def _show(bin: Bin, count: int, facet: Facet) -> FacetBin | None:
    is_chosen = bin.key in facet.chosen
    if not count and not is_chosen and not bin.stays:
        return None
    condition = None
    if bin.condition is not None and _NAME.fullmatch(facet.column):
        condition = bin.condition.replace("\0", facet.column)
    return FacetBin(bin.key, bin.label, count, is_chosen, condition)
