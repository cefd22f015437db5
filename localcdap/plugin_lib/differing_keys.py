"""Keys of objects that differ from the fields of a schema by case or blanks only.

They are mostly meant for the field. Where keys are read as Gson reads them, such as in JSON files, the case
does not matter and the value is read; blanks do matter everywhere. A run says both, see
:attr:`localcdap.api.NoticeKind.KEYS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from localcdap.api import Schema, Type
from localcdap.plugin_lib.json_values import JsonObject

DIFFERING: Final = "keys differ from fields by case or blanks only"
"""What became of the rows, see :meth:`localcdap.api.StageContext.count_altered`."""


class FieldForms:
    """The names of the fields of a schema, and their forms without case and blanks."""

    def __init__(self, schema: Schema) -> None:
        self.names: Final = frozenset(schema.field_names)
        self._forms: Final = {remove_form(name): name for name in schema.field_names}

    def find(self, keys: Collection[str]) -> str | None:
        """Return the first key that resembles a field, as ``'ID' for 'id'``; None when there is none.

        A key with blanks resembles only a field that has no key of its own.
        """
        for key in keys:
            if key in self.names:
                continue
            name = self._forms.get(remove_form(key))
            if name is not None and (name not in keys or key.lower() == name.lower()):
                return f"'{key}' for '{name}'"
        return None


def remove_form(name: str) -> str:
    """Return a name in lower case and without blanks."""
    return "".join(name.split()).lower()


def make_key_finder(schema: Schema) -> Callable[[Any], str | None] | None:
    """Return the function that finds a key in decoded JSON as :meth:`FieldForms.find`, also in nested
    objects; None when the schema has no fields.

    The JSON is as of :func:`localcdap.plugin_lib.json_values.decode_json`.
    """
    inner = schema.non_nullable
    if inner.type is Type.ARRAY and inner.items is not None:
        return _make_array_finder(make_key_finder(inner.items))
    if inner.type is not Type.RECORD:
        return None
    forms = FieldForms(inner)
    nested = {field.name: finder for field in inner if (finder := make_key_finder(field.schema))}

    def find(value: Any) -> str | None:
        if type(value) is not JsonObject:
            return None
        own = forms.find([key for key, _ in value])
        if own is not None or not nested:
            return own
        found = (nested[key](member) for key, member in value if key in nested)
        return next((each for each in found if each is not None), None)

    return find


def _make_array_finder(
    find: Callable[[Any], str | None] | None,
) -> Callable[[Any], str | None] | None:
    if find is None:
        return None

    def find_in_items(value: Any) -> str | None:
        if not isinstance(value, list):
            return None
        return next((each for item in value if (each := find(item)) is not None), None)

    return find_in_items
