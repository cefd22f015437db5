"""The JSON schema of a standard, and what is wrong with objects by it.

Nothing is fetched: references lead within the schema. Its patterns are matched in linear time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jsonschema_rs import Validator

_KIND: Final = "resourceType"
"""The member of a FHIR resource that names the definition it has to meet."""

_PLACE: Final = "#/definitions/"


class StandardError(Exception):
    """The file holds no schema; the text says why."""


class Standard:
    """A schema, where there are definitions for kinds of objects.

    :param content: the JSON of the schema.
    :raises StandardError: when it is none.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._schema: Final[Any] = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise StandardError(f"the schema of the standard is no JSON: {error}") from None
        self._kinds: Final = _kinds(self._schema)
        self._by_kind: Final[dict[str, Validator]] = {}
        self._whole: Final = _validator(self._schema)

    def issues(self, value: Mapping[str, Any]) -> list[str]:
        """What is wrong with an object, each with the place in it: ``at #/active: …``."""
        try:
            errors = list(self._validator_of(value).iter_errors(value))
        except ValueError as error:  # it holds what JSON has not, such as bytes
            return [str(error)]
        return [
            f"at {'/'.join(['#', *map(str, error.instance_path)])}: {error.message}"
            for error in errors
        ]

    def _validator_of(self, value: Mapping[str, Any]) -> Validator:
        """That of the object's kind, which tells more than that it is none of all kinds."""
        kind = value.get(_KIND)
        if not isinstance(kind, str) or kind not in self._kinds:
            return self._whole
        if kind not in self._by_kind:
            alone = {key: part for key, part in self._schema.items() if key != "oneOf"}
            self._by_kind[kind] = _validator(alone | {"$ref": _PLACE + kind})
        return self._by_kind[kind]


def _kinds(schema: Any) -> frozenset[str]:
    """The kinds of objects of which each has to be one."""
    alternatives = schema.get("oneOf") if isinstance(schema, dict) else None
    if not isinstance(alternatives, list):
        return frozenset()
    places = [each.get("$ref") for each in alternatives if isinstance(each, dict)]
    return frozenset(
        place.removeprefix(_PLACE)
        for place in places
        if isinstance(place, str) and place.startswith(_PLACE)
    )


def _validator(schema: Any) -> Validator:
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
        told = str(error).partition("\n")[0]
        raise StandardError(f"the schema of the standard is none: {told}") from None
