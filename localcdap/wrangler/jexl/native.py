"""Expressions as Spark columns, where Spark gives the same answers.

Each node decides by the types of its operands; where one has no equal in Spark, the whole expression has
none. Booleans, ints, longs, doubles and texts are calculated with, other types only passed on and compared
with null. Long arithmetic is left to the batch form, which does not overflow, and so is all that reads
numbers from texts with a result whose type depends on the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.schema import LogicalType, Schema
from localcdap.java.regex import can_explode, compile_regex
from localcdap.wrangler.jexl.inference import find_field
from localcdap.wrangler.jexl.names import local_names
from localcdap.wrangler.jexl.tree import Node, plain_path

if TYPE_CHECKING:
    from pyspark.sql import Column

WHOLE: Final = (Schema.INT, Schema.LONG)
NUMBERS: Final = (*WHOLE, Schema.DOUBLE)
_COUNTING: Final = (*NUMBERS, Schema.FLOAT)

_ORDERS: Final = frozenset(("<", ">", "<=", ">="))
_NEGATED: Final = {"!=": "==", "!~": "=~", "!^": "=^", "!$": "=$"}


@dataclass(frozen=True, slots=True)
class Native:
    """An expression over the columns of a DataFrame."""

    column: Column
    type: Schema
    """Nullable where a row can have null; rows that fail have null whatever it says."""
    failing: Column | None
    """True on the rows for which the batch form raises (never null); None: it never does."""


class NoNativeError(Exception):
    """A node has no equal in Spark."""


@dataclass(frozen=True, slots=True)
class Part:
    """The Spark form of a node."""

    column: Column
    type: Schema
    """Without null; ``Schema.NULL`` for the constant null."""
    nullable: bool = True
    failing: Column | None = None
    bits: int = 0
    """Of a whole number: its magnitude is below 2 to this."""

    @property
    def is_text(self) -> bool:
        return self.type == Schema.STRING


def native_of(root: Node, schema: Schema, column: Callable[[str], Column] | None) -> Native | None:
    """The Spark form of an expression, None where it has none.

    :param schema: a record of all columns; a name that is not in it is a missing column, and null.
    """
    if len(root.parts) != 1 or local_names(root):
        return None
    from pyspark.sql import functions as f

    def quoted(name: str) -> Column:
        return f.col("`" + name.replace("`", "``") + "`")

    try:
        part = Natives(schema, column or quoted).of(root.parts[0])
    except NoNativeError:
        return None
    if part.type == Schema.NULL:
        return None
    value = part.column
    if part.failing is not None:
        value = f.when(~part.failing, value)
    shown = part.type.as_nullable if part.nullable else part.type
    return Native(value, shown, part.failing)


def either(*conditions: Column | None) -> Column | None:
    """True where any of the conditions is; None when none can be."""
    joint: Column | None = None
    for condition in conditions:
        if condition is not None:
            joint = condition if joint is None else joint | condition
    return joint


def both(first: Column, second: Column | None) -> Column | None:
    return None if second is None else first & second


class Natives:
    """Makes the Spark form of the nodes of one expression."""

    def __init__(self, schema: Schema, column: Callable[[str], Column]) -> None:
        from pyspark.sql import functions

        self.f: Any = functions
        self._schema = schema
        self._column = column

    def of(self, node: Node) -> Part:
        """:raises NoNativeError: where Spark has no equal."""
        make = _BY_KIND.get(node.kind)
        if make is None:
            raise NoNativeError
        return make(self, node)

    # -- values -------------------------------------------------------------------------------------

    def null(self) -> Part:
        return Part(self.f.lit(None), Schema.NULL)

    def _constant(self, node: Node) -> Part:
        value = node.value
        if value is None:
            return self.null()
        if isinstance(value, bool):
            return Part(self.f.lit(value), Schema.BOOLEAN, nullable=False)
        if isinstance(value, str):
            return Part(self.f.lit(value), Schema.STRING, nullable=False)
        if isinstance(value, Decimal):
            raise NoNativeError
        if isinstance(value, float):
            return Part(self.f.lit(value), Schema.DOUBLE, nullable=False)
        return self._whole_constant(value)

    def _whole_constant(self, value: int) -> Part:
        bits = abs(value).bit_length()
        if bits > 63:
            raise NoNativeError
        kind, spark = (Schema.INT, "int") if -(2**31) <= value < 2**31 else (Schema.LONG, "bigint")
        return Part(self.f.lit(value).cast(spark), kind, nullable=False, bits=bits)

    def _name(self, node: Node) -> Part:
        return self._field(node.value)

    def _field(self, name: str) -> Part:
        if name in ("this", "ctx"):
            raise NoNativeError
        found = find_field(self._schema, name)
        if found is None:
            return self.null()
        real, schema = found
        bits = {Schema.INT: 32, Schema.LONG: 64}.get(schema.non_nullable, 0)
        return Part(self._column(real), schema.non_nullable, schema.is_nullable, None, bits)

    def _member(self, node: Node) -> Part:
        dotted = plain_path(node)
        if dotted is None:
            raise NoNativeError
        names = dotted.split(".")
        prefixes = [".".join(names[: at + 1]) for at in range(len(names) - 1)]
        if any(find_field(self._schema, prefix) is not None for prefix in prefixes):
            raise NoNativeError
        return self._field(dotted)

    def _group(self, node: Node) -> Part:
        return self.of(node.parts[0])

    # -- coercion -----------------------------------------------------------------------------------

    def is_null(self, part: Part) -> Column:
        if part.type == Schema.NULL:
            return self.f.lit(True)
        return part.column.isNull() if part.nullable else self.f.lit(False)

    def fails_on_null(self, part: Part) -> Column | None:
        """Where a null, or what fails already, is an error."""
        null = self.is_null(part) if part.nullable else None
        return either(part.failing, null)

    def truth(self, part: Part) -> Column:
        """True or false, false for null; what fails is told by others."""
        if part.type == Schema.NULL:
            return self.f.lit(False)
        if part.type == Schema.BOOLEAN:
            value = part.column
        elif part.is_text:
            value = (part.column != "") & (part.column != "false")
        elif part.type in _COUNTING or part.type.logical_type is LogicalType.DECIMAL:
            value = part.column != 0
            if part.type in (Schema.FLOAT, Schema.DOUBLE):
                value = value & ~self.f.isnan(part.column)
        else:
            value = part.column.isNotNull()
        return self.f.coalesce(value, self.f.lit(False)) if part.nullable else value

    def to_long(self, part: Part) -> Part:
        """A whole number, or a text read as one; an empty one is 0, any other that is none fails."""
        if part.type in WHOLE:
            return replace(part, column=part.column.cast("bigint"), type=Schema.LONG)
        if part.type == Schema.BOOLEAN:
            number = part.column.cast("int").cast("bigint")
            return replace(part, column=number, type=Schema.LONG, bits=1)
        if not part.is_text:
            raise NoNativeError
        f, text = self.f, part.column
        read = f.when(text == "", f.lit(0).cast("bigint")).when(
            text.rlike(r"\A[+-]?[0-9]+\z"), text.try_cast("bigint")
        )
        wrong = text.isNotNull() & read.isNull()
        return Part(read, Schema.LONG, True, either(part.failing, wrong), 64)

    def to_double(self, part: Part) -> Part:
        """A number, or a text read as Java reads doubles; an empty one is NaN."""
        if part.type in NUMBERS:
            return replace(part, column=part.column.cast("double"), type=Schema.DOUBLE)
        if part.type == Schema.BOOLEAN:
            return replace(part, column=part.column.cast("int").cast("double"), type=Schema.DOUBLE)
        if not part.is_text:
            raise NoNativeError
        f, text = self.f, part.column
        plain = f.regexp_replace(text, r"\A[\x00-\x20]+|[\x00-\x20]+\z", "")
        number = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
        read = f.when(text == "", f.lit(float("nan"))).when(
            plain.rlike(rf"\A[+-]?(?:NaN|Infinity|{number}[fFdD]?)\z"),
            f.regexp_replace(plain, r"[fFdD]\z", "").try_cast("double"),
        )
        wrong = text.isNotNull() & read.isNull()
        return Part(read, Schema.DOUBLE, True, either(part.failing, wrong))

    def to_text(self, part: Part) -> Part:
        """The text of a value; of doubles Java's differs from Spark's."""
        if part.is_text:
            return part
        if part.type in WHOLE or part.type == Schema.BOOLEAN:
            return replace(part, column=part.column.cast("string"), type=Schema.STRING, bits=0)
        raise NoNativeError

    # -- operators ----------------------------------------------------------------------------------

    def condition(self, column: Column, *parts: Part) -> Part:
        """A bool that is never null, failing where a part does."""
        return Part(column, Schema.BOOLEAN, False, either(*(part.failing for part in parts)))

    def _unary(self, node: Node) -> Part:
        operand = self.of(node.parts[0])
        if node.value == "!":
            failing = self.fails_on_null(operand)
            return Part(~self.truth(operand), Schema.BOOLEAN, False, failing)
        if node.value == "empty":
            return replace(self.condition(self._is_empty(operand), operand), failing=None)
        if node.value == "size" and operand.is_text:
            return self._size(operand)
        if node.value == "-" and operand.type in NUMBERS and operand.bits <= 62:
            if operand.type != Schema.DOUBLE:
                operand = self.to_long(operand)
            return replace(operand, column=-operand.column, failing=self.fails_on_null(operand))
        raise NoNativeError

    def _is_empty(self, part: Part) -> Column:
        f = self.f
        empty = self.is_null(part)
        if part.is_text:
            empty = empty | (part.column == "")
        elif part.type in NUMBERS:
            empty = empty | (part.column == 0)
            if part.type == Schema.DOUBLE:
                empty = empty | f.isnan(part.column)
        elif part.type not in (Schema.BOOLEAN, Schema.NULL):
            raise NoNativeError
        empty = f.coalesce(empty, f.lit(True))
        return empty if part.failing is None else part.failing | empty

    def _size(self, part: Part) -> Part:
        count = self.f.coalesce(self.length(part.column), self.f.lit(0))
        if part.failing is not None:
            count = self.f.when(part.failing, 0).otherwise(count)
        return Part(count, Schema.INT, False, None, 31)

    def length(self, text: Column) -> Column:
        """Java's length of a text: in UTF-16 units."""
        units = self.f.octet_length(self.f.encode(text, "UTF-16BE"))
        return self.f.call_function("div", units, self.f.lit(2)).cast("int")

    def _binary(self, node: Node) -> Part:
        symbol = node.value
        if symbol in _NEGATED:
            found = self._compared(_NEGATED[symbol], node)
            return replace(found, column=~found.column)
        return self._compared(symbol, node)

    def _compared(self, symbol: str, node: Node) -> Part:
        left, right = self.of(node.parts[0]), self.of(node.parts[1])
        if symbol == "==":
            return self._equal(left, right)
        if symbol in _ORDERS:
            return self._ordered(symbol, left, right)
        if symbol == "=~":
            return self._matches(left, node.parts[1])
        if symbol in ("=^", "=$"):
            return self._affix(symbol, left, right)
        raise NoNativeError

    def _null_compared(self, left: Part, right: Part) -> Part:
        """``==`` with the constant null."""
        other = right if left.type == Schema.NULL else left
        return self.condition(self.is_null(other), left, right)

    def _equal(self, left: Part, right: Part) -> Part:
        if Schema.NULL in (left.type, right.type):
            return self._null_compared(left, right)
        if Schema.BOOLEAN in (left.type, right.type):
            return self._equal_truths(left, right)
        a, b = self._alike(left, right)
        equal = self.f.equal_null(a.column, b.column)
        unread = either(a.failing, b.failing)  # a text that is no number has become null
        known = self._known(a, b, equal if unread is None else equal & ~unread)
        return replace(known, failing=either(left.failing, right.failing, known.failing))

    def _equal_truths(self, left: Part, right: Part) -> Part:
        nulls = self.is_null(left) | self.is_null(right)
        same = self.truth(left) == self.truth(right)
        both_null = self.is_null(left) & self.is_null(right)
        return self.condition(self.f.when(nulls, both_null).otherwise(same), left, right)

    def _alike(self, left: Part, right: Part) -> tuple[Part, Part]:
        """Both as the type in which they are compared."""
        if left.is_text and right.is_text:
            return left, right
        if Schema.DOUBLE in (left.type, right.type):
            return self.to_double(left), self.to_double(right)
        if left.type in WHOLE or right.type in WHOLE:
            return self.to_long(left), self.to_long(right)
        raise NoNativeError

    def _known(self, left: Part, right: Part, column: Column) -> Part:
        """A comparison in which a text that is no number fails only where the other side is not null."""
        failing = either(
            both(self._not_null(right), left.failing), both(self._not_null(left), right.failing)
        )
        return Part(column, Schema.BOOLEAN, False, failing)

    def _not_null(self, part: Part) -> Column:
        """Not null or failing: what was converted may be null because it fails."""
        known = part.column.isNotNull() if part.nullable else self.f.lit(True)
        return known if part.failing is None else known | part.failing

    def _ordered(self, symbol: str, left: Part, right: Part) -> Part:
        if Schema.NULL in (left.type, right.type):
            if symbol in ("<=", ">="):
                return self._null_compared(left, right)
            return self.condition(self.f.lit(False), left, right)
        if left.is_text and right.is_text:
            raise NoNativeError
        a, b = self._alike(left, right)
        if symbol in (">", ">="):
            a, b = b, a
        f = self.f
        below = a.column < b.column
        same = a.column == b.column
        if a.type == Schema.DOUBLE:  # NaN is the lowest here, the highest in Spark
            first, second = f.isnan(a.column), f.isnan(b.column)
            below = f.when(first | second, first & ~second).otherwise(below)
        found = below if symbol in ("<", ">") else below | same
        nulls = f.lit(False)
        if symbol in ("<=", ">="):
            nulls = self._really_null(a) & self._really_null(b)
        known = a.column.isNotNull() & b.column.isNotNull()
        compared = self._known(a, b, f.when(known, found).otherwise(nulls))
        return replace(compared, failing=either(left.failing, right.failing, compared.failing))

    def _really_null(self, part: Part) -> Column:
        null = part.column.isNull() if part.nullable else self.f.lit(False)
        return null if part.failing is None else null & ~part.failing

    def _matches(self, left: Part, pattern: Node) -> Part:
        if pattern.kind != "constant" or not isinstance(pattern.value, str):
            raise NoNativeError
        if can_explode(pattern.value) or "(?" in pattern.value.replace("(?:", ""):
            raise NoNativeError  # Spark has no limit of time, and flags mean more in one than in the other
        compile_regex(pattern.value)
        if left.type == Schema.NULL:
            return self.condition(self.f.lit(False), left)
        text = self.to_text(left)
        found = text.column.rlike(rf"\A(?:{pattern.value})\z")
        return self.condition(self.f.coalesce(found, self.f.lit(False)), left)

    def _affix(self, symbol: str, left: Part, right: Part) -> Part:
        if not left.is_text or right.type == Schema.NULL:
            raise NoNativeError
        other = self.to_text(right)
        found = (left.column.startswith if symbol == "=^" else left.column.endswith)(other.column)
        nulls = self.is_null(left) & self.is_null(right)
        return self.condition(self.f.coalesce(found, nulls), left, right)

    def _chain(self, node: Node) -> Part:
        if node.value[0] in ("&&", "||"):
            return self._logic(node.value[0], [self.of(part) for part in node.parts])
        value = self.of(node.parts[0])
        for symbol, part in zip(node.value, node.parts[1:], strict=True):
            value = self._arithmetic(symbol, value, self.of(part))
        return value

    def _logic(self, symbol: str, parts: list[Part]) -> Part:
        failing: Column | None = None
        value = self.truth(parts[0])
        failing = self.fails_on_null(parts[0])
        for part in parts[1:]:
            goes_on = value if symbol == "&&" else ~value
            failing = either(failing, both(goes_on, self.fails_on_null(part)))
            truth = self.truth(part)
            value = value & truth if symbol == "&&" else value | truth
        return Part(value, Schema.BOOLEAN, False, failing)

    def _arithmetic(self, symbol: str, left: Part, right: Part) -> Part:
        failing = either(self.fails_on_null(left), self.fails_on_null(right))
        if Schema.NULL in (left.type, right.type):
            raise NoNativeError
        if symbol == "+" and (left.is_text or right.is_text):
            a, b = self.to_text(left), self.to_text(right)
            nullable = left.nullable or right.nullable
            return Part(self.f.concat(a.column, b.column), Schema.STRING, nullable, failing)
        if left.type not in NUMBERS or right.type not in NUMBERS:
            raise NoNativeError
        if Schema.DOUBLE in (left.type, right.type):
            return self._floating(symbol, left, right, failing)
        return self._whole(symbol, left, right, failing)

    def _floating(self, symbol: str, left: Part, right: Part, failing: Column | None) -> Part:
        a, b = self.to_double(left).column, self.to_double(right).column
        if symbol in ("/", "%"):
            failing = either(failing, self.f.coalesce(b == 0, self.f.lit(False)))
            b = self.f.when(b != 0, b)
        column = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__, "/": a.__truediv__}.get(
            symbol, a.__mod__
        )(b)
        return Part(column, Schema.DOUBLE, True, failing)

    def _whole(self, symbol: str, left: Part, right: Part, failing: Column | None) -> Part:
        a, b = left.column.cast("bigint"), right.column.cast("bigint")
        bits = {
            "+": max(left.bits, right.bits) + 1,
            "-": max(left.bits, right.bits) + 1,
            "*": left.bits + right.bits,
            "/": left.bits,
            "%": min(left.bits, right.bits),
        }[symbol]
        if bits > 63:
            raise NoNativeError
        if symbol in ("/", "%"):
            failing = either(failing, self.f.coalesce(b == 0, self.f.lit(False)))
            b = self.f.when(b != 0, b)
        if symbol == "/":
            column = self.f.call_function("div", a, b)
        else:
            column = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}.get(symbol, a.__mod__)(b)
        if symbol == "%" and left.type == right.type == Schema.INT:
            return Part(column.cast("int"), Schema.INT, True, failing, bits)
        return Part(column, Schema.LONG, True, failing, bits)

    # -- choices ------------------------------------------------------------------------------------

    def _ternary(self, node: Node) -> Part:
        condition = self._protected(node.parts[0])
        then, otherwise = self._protected(node.parts[1]), self._protected(node.parts[2])
        return self._choice(condition, self.truth(condition), then, otherwise)

    def _elvis(self, node: Node) -> Part:
        left, right = self._protected(node.parts[0]), self._protected(node.parts[1])
        if left.type == Schema.NULL:
            return right
        return self._choice(left, self.truth(left), left, right)

    def _coalesce(self, node: Node) -> Part:
        left, right = self._protected(node.parts[0]), self.of(node.parts[1])
        return self.first_not_null([left, right])

    def _choice(self, source: Part, chosen: Column, then: Part, otherwise: Part) -> Part:
        kind, columns = self.common([then, otherwise])
        failing = either(
            source.failing, both(chosen, then.failing), both(~chosen, otherwise.failing)
        )
        column = self.f.when(chosen, columns[0]).otherwise(columns[1])
        bits = max(then.bits, otherwise.bits)
        return Part(column, kind, then.nullable or otherwise.nullable, failing, bits)

    def common(self, parts: Iterable[Part]) -> tuple[Schema, list[Column]]:
        """The one type of all parts and the columns as it; an int among longs is a long."""
        given = list(parts)
        types = {part.type for part in given} - {Schema.NULL}
        if types == set(WHOLE):
            return Schema.LONG, [part.column.cast("bigint") for part in given]
        if len(types) > 1:
            raise NoNativeError
        return next(iter(types), Schema.NULL), [part.column for part in given]

    def first_not_null(self, parts: list[Part]) -> Part:
        """All parts are evaluated, so all may fail."""
        kind, columns = self.common(parts)
        failing = either(*(part.failing for part in parts))
        nullable = all(part.nullable for part in parts)
        bits = max(part.bits for part in parts)
        return Part(self.f.coalesce(*columns), kind, nullable, failing, bits)

    # -- calls --------------------------------------------------------------------------------------

    def _protected(self, node: Node) -> Part:
        """A method of null is null right inside of ``? :``."""
        return self._method(node, safe=True) if node.kind == "method" else self.of(node)

    def _call(self, node: Node) -> Part:
        from localcdap.wrangler.jexl.native_functions import FUNCTIONS

        make = FUNCTIONS.get((*node.value, len(node.parts)))
        if make is None:
            raise NoNativeError
        return make(self, [self.of(part) for part in node.parts])

    def _method(self, node: Node, *, safe: bool = False) -> Part:
        from localcdap.wrangler.jexl.native_functions import METHODS

        name, null_safe = node.value
        value = self.of(node.parts[0])
        make = METHODS.get((name, len(node.parts) - 1))
        if make is None or not value.is_text:
            raise NoNativeError
        found = make(self, [value, *(self.of(part) for part in node.parts[1:])])
        if safe or null_safe:
            column = self.f.when(value.column.isNotNull(), found.column)
            return replace(found, column=column, nullable=value.nullable or found.nullable)
        return replace(found, failing=either(found.failing, self.fails_on_null(value)))


_BY_KIND: Final[dict[str, Callable[[Natives, Node], Part]]] = {
    "constant": Natives._constant,
    "name": Natives._name,
    "group": Natives._group,
    "member": Natives._member,
    "unary": Natives._unary,
    "binary": Natives._binary,
    "chain": Natives._chain,
    "ternary": Natives._ternary,
    "elvis": Natives._elvis,
    "coalesce": Natives._coalesce,
    "call": Natives._call,
    "method": Natives._method,
}
