"""The types of expressions, as far as schemas decide them.

Whole numbers of the original grow when they overflow, so a sum of ints is a long here, which holds any
answer.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from localcdap.api.schema import Schema, Type
from localcdap.plugin_lib.jexl.functions import FUNCTIONS, Overload
from localcdap.plugin_lib.jexl.parser import CONDITIONS, Node, find_plain_path, list_local_names

_SIZED: Final = frozenset((Type.NULL, Type.STRING, Type.ARRAY, Type.MAP))
_STRICT: Final = frozenset(("+", "-", "*", "/", "%"))

WHOLE: Final = (Schema.INT, Schema.LONG)

RESULTS: Final = {
    "S": Schema.STRING,
    "C": Schema.STRING,
    "I": Schema.INT,
    "L": Schema.LONG,
    "D": Schema.DOUBLE,
    "F": Schema.FLOAT,
    "B": Schema.BOOLEAN,
    "Y": Schema.BYTES,
    "d": Schema.DATE,
    "t": Schema.TIME,
    "T": Schema.DATETIME,
    "Z": Schema.TIMESTAMP,
    "A": Schema.array(Schema.STRING.as_nullable),
}
"""The schemas of the results of functions by their letter."""

_RETURN_FIRST: Final = frozenset(
    ("coalesce", "rcoalesce", "NullToEmpty", "NullToZero", "NullToValue")
)
_METHODS: Final = {
    **dict.fromkeys(("trim", "strip", "toUpperCase", "toLowerCase", "substring"), Schema.STRING),
    **dict.fromkeys(("concat", "replace", "replaceAll", "replaceFirst", "toString"), Schema.STRING),
    **dict.fromkeys(("isEmpty", "contains", "startsWith", "endsWith", "matches"), Schema.BOOLEAN),
    **dict.fromkeys(("equalsIgnoreCase", "equals", "isBlank"), Schema.BOOLEAN),
    **dict.fromkeys(("length", "indexOf", "lastIndexOf", "intValue", "hashCode"), Schema.INT),
    "longValue": Schema.LONG,
    "doubleValue": Schema.DOUBLE,
    "floatValue": Schema.FLOAT,
}


def type_of(root: Node, schema: Schema) -> Schema | None:
    """Return the schema of an expression's values, or None if only the data decides it.

    :param schema: a record of the known names; nothing is known of other names.
    """
    if len(root.parts) != 1 or list_local_names(root):
        return None
    found = _TypeInference(schema).infer(root.parts[0])
    return None if found == Schema.NULL else found


def infer_type(node: Node, schema: Schema) -> Schema | None:
    """Return the schema of the values of a part of an expression; see :func:`type_of`."""
    return _TypeInference(schema).infer(node)


def infer_literal(value: object) -> Schema:
    """Return the schema of a constant."""
    if isinstance(value, bool):
        return Schema.BOOLEAN
    if isinstance(value, int):
        return Schema.INT if -(2**31) <= value < 2**31 else Schema.LONG
    if isinstance(value, Decimal):
        digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
        scale = max(-exponent if isinstance(exponent, int) else 0, 0)
        return Schema.decimal(max(len(digits), scale + 1), scale)
    if value is None:
        return Schema.NULL
    return Schema.DOUBLE if isinstance(value, float) else Schema.STRING


def infer_arithmetic(symbol: str, left: Schema, right: Schema) -> Schema | None:
    """Return the schema of ``left symbol right`` for operands that are not null; None if only the data
    decides it.
    """
    if symbol == "+" and (_is_text(left) or _is_text(right)):
        return Schema.STRING
    if left in WHOLE and right in WHOLE:
        small = left == right == Schema.INT
        return Schema.INT if small and symbol == "%" else Schema.LONG
    numbers = (*WHOLE, Schema.FLOAT, Schema.DOUBLE)
    if left in numbers and right in numbers:
        return Schema.DOUBLE
    if Schema.DOUBLE in (left, right) and (_is_text(left) or _is_text(right)):
        return Schema.DOUBLE
    return None


def find_field(schema: Schema, name: str) -> tuple[str, Schema] | None:
    """Return the name and the schema of a field, found without regard to case."""
    field = schema.field(name)
    if field is None:
        wanted = name.lower()
        field = next((each for each in schema if each.name.lower() == wanted), None)
    return None if field is None else (field.name, field.schema)


def _is_text(schema: Schema) -> bool:
    return schema == Schema.STRING


class _TypeInference:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def infer(self, node: Node) -> Schema | None:
        find = _BY_KIND.get(node.kind)
        return find(self, node) if find is not None else None

    def _infer_name(self, node: Node) -> Schema | None:
        found = find_field(self._schema, node.value)
        return found[1] if found is not None else None

    def _infer_member(self, node: Node) -> Schema | None:
        dotted = find_plain_path(node)
        found = find_field(self._schema, dotted) if dotted is not None else None
        if found is not None:
            return found[1].as_nullable
        inner = self.infer(node.parts[0])
        field = find_field(inner.non_nullable, node.value[0]) if inner is not None else None
        return field[1].as_nullable if field is not None else None

    def _infer_index(self, node: Node) -> Schema | None:
        inner = self.infer(node.parts[0])
        if inner is None:
            return None
        plain = inner.non_nullable
        key = node.parts[1].value if node.parts[1].kind == "constant" else None
        if plain.type is Type.RECORD and isinstance(key, str):
            field = find_field(plain, key)
            return field[1].as_nullable if field is not None else None
        element = plain.items if plain.type is Type.ARRAY else plain.values
        return element.as_nullable if element is not None else None

    def _infer_unary(self, node: Node) -> Schema | None:
        if node.value in ("!", "empty"):
            return Schema.BOOLEAN
        if node.value == "size":
            return self._infer_size(node.parts[0])
        if node.value == "~":
            return Schema.LONG
        inner = self.infer(node.parts[0])
        if inner is None:
            return None
        plain = inner.non_nullable
        return Schema.LONG if plain == Schema.INT else plain if plain != Schema.STRING else None

    def _infer_size(self, node: Node) -> Schema:
        """Return the schema of ``size``, which is null for a value that has none."""
        inner = self.infer(node)
        known = inner is not None and inner.non_nullable.type in _SIZED
        return Schema.INT if known else Schema.INT.as_nullable

    def _infer_binary(self, node: Node) -> Schema | None:
        if node.value in CONDITIONS:
            return Schema.BOOLEAN
        return Schema.LONG if node.value in ("<<", ">>") else Schema.array(Schema.LONG)

    def _chain(self, node: Node) -> Schema | None:
        if node.value[0] in ("&&", "||"):
            return Schema.BOOLEAN
        if node.value[0] not in _STRICT:
            return Schema.LONG
        result = self.infer(node.parts[0])
        for symbol, part in zip(node.value, node.parts[1:], strict=True):
            right = self.infer(part)
            if result is not None and right is not None:
                result = infer_arithmetic(symbol, result.non_nullable, right.non_nullable)
            else:
                known = result if result is not None else right
                text = known is not None and _is_text(known.non_nullable)
                result = Schema.STRING if symbol == "+" and text else None
        return result

    def _infer_ternary(self, node: Node) -> Schema | None:
        return _find_common_type(
            self._infer_null_safe(node.parts[1]), self._infer_null_safe(node.parts[2])
        )

    def _infer_null_safe(self, node: Node) -> Schema | None:
        """Return the schema of a branch of ``? :``, in which a method of null gives null."""
        found = self.infer(node)
        return found.as_nullable if found is not None and node.kind == "method" else found

    def _infer_either(self, node: Node) -> Schema | None:
        left = self.infer(node.parts[0])
        right = self.infer if node.kind == "coalesce" else self._infer_null_safe
        return _find_common_type(
            left.non_nullable if left is not None else None, right(node.parts[1])
        )

    def _call(self, node: Node) -> Schema | None:
        function = FUNCTIONS[node.value]
        if not node.value[0] and node.value[1] in _RETURN_FIRST:
            return self._infer_coalesce(node)
        forms = function.find_overloads(len(node.parts))
        results = {_infer_result(form) for form in forms}
        if len(results) == 1:
            return next(iter(results))
        return self._infer_math(node)

    def _infer_coalesce(self, node: Node) -> Schema | None:
        found = [self.infer(part) for part in node.parts]
        if node.value[1] == "NullToEmpty":
            found.append(Schema.STRING)
        elif node.value[1] == "NullToZero":
            found.append(Schema.INT)
        common: Schema | None = Schema.NULL
        for one in found:
            common = _find_common_type(common, one)
        if common is None or common == Schema.NULL:
            return None
        never_null = any(
            one is not None and not one.is_nullable and one != Schema.NULL for one in found
        )
        return common.non_nullable if never_null else common

    def _infer_math(self, node: Node) -> Schema | None:
        """Return the schema of ``math:abs``, ``max`` and ``min``: the widest of the arguments."""
        known = [self.infer(part) for part in node.parts]
        if node.value[0] != "math" or None in known:
            return None
        plain = [one.non_nullable for one in known if one is not None]
        whole = all(one in WHOLE for one in plain)
        return Schema.LONG if whole else Schema.DOUBLE

    def _infer_method(self, node: Node) -> Schema | None:
        inner = self.infer(node.parts[0])
        if (
            inner is None
            or inner.non_nullable.type is Type.RECORD
            or inner.non_nullable.type is Type.MAP
        ):
            return None
        found = _METHODS.get(node.value[0])
        return found.as_nullable if found is not None and node.value[1] else found

    def _group(self, node: Node) -> Schema | None:
        return self.infer(node.parts[0])

    def _infer_constant(self, node: Node) -> Schema | None:
        return infer_literal(node.value)


def _infer_result(form: Overload) -> Schema | None:
    schema = RESULTS.get(form.returns)
    return schema if schema is None or form.never_null else schema.as_nullable


def _find_common_type(left: Schema | None, right: Schema | None) -> Schema | None:
    """Return a schema that holds values of both; None if they differ in more than nullability."""
    if left is None or right is None:
        return None
    if Schema.NULL in (left, right):
        other = right if left == Schema.NULL else left
        return other if other == Schema.NULL else other.as_nullable
    a, b = left.non_nullable, right.non_nullable
    if a == b:
        joint = a
    elif a in WHOLE and b in WHOLE:
        joint = Schema.LONG
    else:
        return None
    return joint.as_nullable if left.is_nullable or right.is_nullable else joint


_BY_KIND: Final[dict[str, Callable[[_TypeInference, Node], Schema | None]]] = {
    "constant": _TypeInference._infer_constant,
    "name": _TypeInference._infer_name,
    "group": _TypeInference._group,
    "member": _TypeInference._infer_member,
    "index": _TypeInference._infer_index,
    "unary": _TypeInference._infer_unary,
    "binary": _TypeInference._infer_binary,
    "chain": _TypeInference._chain,
    "ternary": _TypeInference._infer_ternary,
    "elvis": _TypeInference._infer_either,
    "coalesce": _TypeInference._infer_either,
    "call": _TypeInference._call,
    "method": _TypeInference._infer_method,
}
