"""The directive that checks objects against the schema of a standard.

The JSON schema of a standard, and the validation of objects by it.

Nothing is fetched: references lead within the schema. Its patterns are matched in linear time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Type
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT, FolderError, read_file
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_type_error,
    report_missing_column,
)

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


KNOWN = ("hl7-fhir-r4",)


@plugin(
    name="validate-standard",
    description="Sends records whose object does not conform to a standard to the error port. The schema is "
    f"the file <standard>.json in the folder that the runtime argument '{ARGUMENT}' names; that of "
    "hl7-fhir-r4 is published by HL7 as fhir.schema.json.",
)
class ValidateStandard(Directive):
    categories = ("data-quality",)
    examples = ("validate-standard :patient hl7-fhir-r4",)
    keeps_values = True
    drops_rows = True
    column: str = argument.column("The column with objects of JSON; null is ignored.")
    standard_spec: str = argument.identifier(f"One of: {', '.join(KNOWN)}.")

    def problem(self) -> str | None:
        if self.standard_spec in KNOWN:
            return None
        return f"there is no standard '{self.standard_spec}'; there are {', '.join(KNOWN)}"

    def _name_file(self) -> str:
        return f"{self.standard_spec}.json"

    def propagate(self, columns: Columns) -> None:
        schema = columns.schema(self.column)
        if report_missing_column(columns, self.column, "check", fails=False):
            return
        if schema is not None and schema.non_nullable.type not in (Type.RECORD, Type.MAP):
            columns.fail(
                f"Column '{self.column}' is {schema.non_nullable.display_name}, not an object.",
                f"Read it before: set-column :{self.column} exp:{{json:Parse({self.column})}}",
            )
            return
        columns.warn(
            f"The schema of the standard is the file '{self._name_file()}', which is not part of localcdap.",
            f"Put it into a folder and give the folder as the runtime argument '{ARGUMENT}'.",
        )

    def start(self, context: RowContext) -> None:
        self._problem: str | None = None
        try:
            content = read_file(
                context.arguments, [self._name_file()], "The schema of the standard"
            )
            self._standard = Standard(content)
        except (FolderError, StandardError) as error:
            self._problem = str(error)

    def change(self, row: Row, context: RowContext) -> None:
        value = row.value(self.column)
        if value is None:
            return
        if self._problem is not None:
            raise DirectiveError(self._problem)
        if not isinstance(value, Mapping):
            raise make_type_error(self.column, value, "an object is needed")
        issues = self._standard.find_issues(value)
        if issues:
            raise ErrorRow("; ".join(issues), 1)
