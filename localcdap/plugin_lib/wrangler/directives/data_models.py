"""Directives that map columns to the fields of data models, or check objects by the schema of a standard.

Data models: Avro schemas at a URL or in a folder, listed in its ``manifest.json``.

``{"standards": {"OMOP_6_0_0": {"format": "avsc"}}}`` names the file ``OMOP_6_0_0.avsc`` next to it. A model
is a field of the schema that holds a record; its fields have names and types that columns are mapped to.

Standards are JSON schemas. Nothing is fetched: references lead within the schema. Its patterns are matched
in linear time.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    ErrorRow,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.api.schema import Type
from localcdap.plugin_lib.wrangler.catalogs.folder import ARGUMENT, FolderError, read_file
from localcdap.plugin_lib.wrangler.directives.columns import Rename
from localcdap.plugin_lib.wrangler.directives.types import SetType
from localcdap.plugin_lib.wrangler.recipe.base_directives import (
    make_type_error,
    report_missing_column,
)
from localcdap.plugin_lib.wrangler.values.conversion import KINDS

if TYPE_CHECKING:
    from jsonschema_rs import Validator


_SECONDS: Final = 3
_MAX_BYTES: Final = 64 * 2**20
_CACHE_SECONDS: Final = 60
"""Seconds for which loaded models, and the failure to load some, are cached."""


class DataModelError(ValueError):
    """A model or a field does not exist; the message is a clause."""


def find_type_name(url: str, data_model: str, revision: int, model: str, field: str) -> str:
    """Return the Avro type of a field of a model, without null.

    :param url: an address (http, https or file), or a folder.
    :param data_model: the full name of the schema.
    :raises DataModelError: when there is none, naming what is missing and what there is.
    """
    loaded = _load(url, int(time.monotonic()) // _CACHE_SECONDS)
    if isinstance(loaded, str):
        raise DataModelError(loaded)
    found = [
        s for s in loaded if _find_full_name(s) == data_model and _find_revision(s) == revision
    ]
    if not found:
        known = _format_names(f"{_find_full_name(s)} revision {_find_revision(s)}" for s in loaded)
        raise DataModelError(
            f"there is no data model '{data_model}' revision {revision} at {url}; there are {known}"
        )
    names: dict[str, Any] = {}
    _collect(found[0], names)
    record = next(
        (
            t
            for t in _list_types(_find_member(found[0], model, "model"), names)
            if _find_kind(t) == "record"
        ),
        None,
    )
    if record is None:
        raise DataModelError(f"the model '{model}' is not a record")
    types = _list_types(_find_member(record, field, "field"), names)
    kind = next((_find_kind(each) for each in types if _find_kind(each) != "null"), None)
    if kind is None:
        raise DataModelError(f"the field '{field}' of '{model}' has no type")
    return kind


@functools.lru_cache(maxsize=8)
def _load(url: str, _minute: int) -> list[Any] | str:
    """Return the schemas at an address, or why there are none."""
    import urllib.error

    try:
        manifest = _read(url, "manifest.json")
        standards = manifest["standards"].items()
        files = [f"{name}.avsc" for name, each in standards if each.get("format") == "avsc"]
        return [_read(url, file) for file in files]
    except urllib.error.URLError as error:
        return f"the data models cannot be loaded from {url}: {error.reason}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return f"the data models cannot be loaded from {url}: {type(error).__name__}: {error}"


def _read(url: str, name: str) -> Any:
    import urllib.request

    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        address = parts._replace(path=f"{parts.path.rstrip('/')}/{quote(name)}")
        with urllib.request.urlopen(address.geturl(), timeout=_SECONDS) as answer:  # noqa: S310
            content = answer.read(_MAX_BYTES + 1)
    else:
        folder = urllib.request.url2pathname(parts.path) if parts.scheme == "file" else url
        with Path(folder, name).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"{name} is larger than {_MAX_BYTES >> 20} MB")
    return json.loads(content)


def _find_full_name(schema: Any) -> str:
    name, space = str(schema.get("name", "")), schema.get("namespace")
    return f"{space}.{name}" if space and "." not in name else name


def _find_revision(schema: Any) -> int | None:
    try:
        return int(schema.get("_revision"))
    except (TypeError, ValueError):
        return None


def _find_kind(type_: Any) -> str:
    return str(type_["type"]) if isinstance(type_, dict) else str(type_)


def _list_types(schema: Any, names: dict[str, Any]) -> list[Any]:
    """Return the members of a union, or the one type; names are replaced by their records."""
    members = schema if isinstance(schema, list) else [schema]
    return [names.get(each, each) if isinstance(each, str) else each for each in members]


def _find_member(record: Any, name: str, purpose: str) -> Any:
    fields = record.get("fields", ())
    for field in fields:
        if field["name"] == name:
            return field["type"]
    known = _format_names(field["name"] for field in fields)
    raise DataModelError(
        f"there is no {purpose} '{name}' in '{record.get('name')}'; there are {known}"
    )


def _format_names(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:20]) + (" …" if len(found) > 20 else "") or "none"


def _collect(schema: Any, names: dict[str, Any], space: str | None = None) -> None:
    """Find the records that a schema defines, to be named later in it.

    :param space: the namespace of what is around it.
    """
    if isinstance(schema, list):
        for each in schema:
            _collect(each, names, space)
    elif isinstance(schema, dict):
        space = schema.get("namespace", space)
        if schema.get("name"):
            names[schema["name"]] = names[_find_full_name({"namespace": space, **schema})] = schema
        for field in schema.get("fields", ()):
            _collect(field["type"], names, space)
        for inner in ("type", "items", "values"):
            if isinstance(schema.get(inner), dict | list):
                _collect(schema[inner], names, space)


@plugin(
    name="data-model-map-column",
    description="Gives a column the type and the name of a field of a data model.",
)
class DataModelMapColumn(Directive):
    categories = ("data-quality",)
    examples = (
        "data-model-map-column 'https://models.example' 'org.OMOP' 6 'PERSON' 'birth_year' :year",
    )
    data_model_url: str = argument.text(
        "The URL or the folder of manifest.json and the models.", name="data-model-url"
    )
    data_model: str = argument.text("The full name of the data model.", name="data-model")
    revision: int = argument.number("Its revision.", name="revision")
    model: str = argument.text("The model in the data model.")
    target_field: str = argument.text("The field of the model.", name="target-field")
    column: str = argument.column("The column to map.")

    @cached_property
    def _type(self) -> str:
        """The type of the field.

        :raises DataModelError: for an unknown field, or a type that columns cannot have.
        """
        found = find_type_name(
            self.data_model_url, self.data_model, int(self.revision), self.model, self.target_field
        )
        if found not in KINDS:
            raise DataModelError(
                f"the field '{self.target_field}' is a {found}, which no column can be"
            )
        return found

    @cached_property
    def _steps(self) -> tuple[Directive, ...]:
        values: dict[str, Any] = {"column": self.column, "type": self._type}
        return SetType(values), Rename({"source": self.column, "target": self.target_field})

    def problem(self) -> str | None:
        try:
            _ = self._type
        except DataModelError as error:
            return str(error)
        return None

    def propagate(self, columns: Columns) -> None:
        for step in self._steps:
            step.propagate(columns)

    def change(self, row: Row, context: RowContext) -> None:
        try:
            steps = self._steps
        except DataModelError as error:
            raise DirectiveError(str(error)) from None
        for step in steps:
            step.change(row, context)

    def native(self, frame: Frame) -> None:
        try:
            steps = self._steps
        except DataModelError as error:
            raise NoNativeFormError(str(error)) from None
        for step in steps:
            step.native(frame)


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
