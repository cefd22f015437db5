"""The JSON schema of a standard, and the validation of objects by it.

Nothing is fetched: references lead within the schema. Its patterns are matched in linear time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_KIND: Final = "resourceType"
"""The member of a FHIR resource that names its definition."""

_DEFINITIONS: Final = "#/definitions/"


class StandardError(Exception):
    """A file is not a valid schema; the message says why."""


class Standard:
    """A JSON schema that may define several kinds of objects.

    :param content: the JSON of the schema.
    :raises StandardError: when it is not a valid JSON schema.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._schema: Final[Any] = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise StandardError(f"the schema of the standard is not valid JSON: {error}") from None
        self._kinds: Final = _list_kinds(self._schema)
        self._by_kind: Final[dict[str, Validator]] = {}
        self._whole: Final = _make_validator(self._schema)

    def find_issues(self, value: Mapping[str, Any]) -> list[str]:
        """Return the problems of an object, each with its position: ``at #/active: …``."""
        try:
            errors = list(self._find_make_validator(value).iter_errors(value))
        except ValueError as error:  # it holds what JSON has not, such as bytes
            return [str(error)]
        return [
            f"at {'/'.join(['#', *map(str, error.instance_path)])}: {error.message}"
            for error in errors
        ]

    def _find_make_validator(self, value: Mapping[str, Any]) -> Validator:
        """Return the validator of the object's kind: its messages say more than the schema's."""
        kind = value.get(_KIND)
        if not isinstance(kind, str) or kind not in self._kinds:
            return self._whole
        if kind not in self._by_kind:
            alone = {key: part for key, part in self._schema.items() if key != "oneOf"}
            self._by_kind[kind] = _make_validator(alone | {"$ref": _DEFINITIONS + kind})
        return self._by_kind[kind]


def _list_kinds(schema: Any) -> frozenset[str]:
    """Return the kinds of objects that the schema defines."""
    alternatives = schema.get("oneOf") if isinstance(schema, dict) else None
    if not isinstance(alternatives, list):
        return frozenset()
    places = [each.get("$ref") for each in alternatives if isinstance(each, dict)]
    return frozenset(
        place.removeprefix(_DEFINITIONS)
        for place in places
        if isinstance(place, str) and place.startswith(_DEFINITIONS)
    )


def _make_validator(schema: Any) -> Validator:
    try:
        import jsonschema_rs
    except ImportError:
        raise StandardError(
            "the library jsonschema-rs is missing where the records are worked on"
        ) from None
    try:
        return jsonschema_rs.validator_for(
            schema, offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )
    except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        reason = str(error).partition("\n")[0]
        raise StandardError(
            f"the schema of the standard is not a valid JSON schema: {reason}"
        ) from None
