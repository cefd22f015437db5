"""What the form of a stage consists of: its fields in their order, with what each is edited, and suggestions.

All fields of a form know the schemas of the stage and the names that macros can use. A list in a property is
edited as a table: its rows and its text are made of each other.
"""

from __future__ import annotations

import enum
import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from localcdap.api.config import PluginProperty
from localcdap.api.errors import SchemaError
from localcdap.api.schema import Schema
from localcdap.pipeline.editing.incremental_validator import StageState
from localcdap.pipeline.paths.service import PathQuery

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_BETWEEN: Final = ","
_MOST_ROWS: Final = 60
"""Elements of a list that is edited as a table; a longer one is edited as text."""

PATH: Final = "path"
FOLDER: Final = "folder"

Row = tuple[str, ...]
"""The texts of one element, one for each part."""


class ElementPart(NamedTuple):
    """One column of the table."""

    kind: str
    """The kind of value: ``input-field``, ``output-field``, ``input-stage``, ``joined-field``, ``join-keys``,
    ``type``, ``path``, ``folder``, or any other word."""
    choices: tuple[str, ...] = ()
    """Words that are offered, where the form lists them."""

    @property
    def heading(self) -> str:
        return self.kind.replace("-", " ")


class ElementForm:
    """The form of an element, such as ``{input-field}:{type}``; see :func:`localcdap.api.config.field`.

    :param template: with a comma at its end it is that of each element of a list.
    """

    def __init__(self, template: str) -> None:
        self.is_list: Final = template.endswith(_BETWEEN)
        texts = _PLACE.split(template.removesuffix(_BETWEEN))
        self.parts: Final = tuple(_parse_part(text) for text in texts[1::2])
        self._between: Final = texts[::2]
        self._pattern: Final = re.compile(_build_pattern(self._between), re.DOTALL)

    def parse(self, element: str) -> Row | None:
        """Return the parts of an element; None when it has another form."""
        found = self._pattern.fullmatch(element.strip())
        if found is None:
            return None
        row = tuple(text.strip() for text in found.groups())
        return row if all(row) else None

    def format(self, row: Sequence[str]) -> str:
        """Return the text of an element; empty for an empty row.

        An element that lacks its last parts ends where they begin.
        """
        if not any(row):
            return ""
        cells = list(row)
        texts = [self._between[0]]
        for place, cell in enumerate(cells):
            texts += [cell, self._between[place + 1]]
        return "".join(texts)


def find_element_form(declared: PluginProperty) -> ElementForm | None:
    """Return the form of a property's elements; None when the property is a single text."""
    if declared.form is not None:
        form = ElementForm(declared.form)
        if form.parts:
            return form
    if declared.type != "list":
        return None
    if declared.choices:
        return ElementForm("{value:" + "|".join(declared.choices) + "}")
    return ElementForm("{value}")


def find_path_kind(declared: PluginProperty | None) -> str | None:
    """Return :data:`PATH` or :data:`FOLDER` for a property that is one path; None for any other."""
    form = find_element_form(declared) if declared is not None and declared.form else None
    kinds = [part.kind for part in form.parts] if form is not None and not form.is_list else []
    return kinds[0] if kinds in ([PATH], [FOLDER]) else None


def get_max_elements(declared: PluginProperty, form: ElementForm) -> int | None:
    """Return the most elements that a property can have; None for any number."""
    return None if declared.type == "list" or form.is_list else 1


def parse_rows(form: ElementForm, text: str, most: int | None = None) -> list[Row] | None:
    """Parse the rows of a list; None when a table could not represent the whole text.

    :param most: how many elements there may be.
    """
    elements = [part.strip() for part in text.split(_BETWEEN)] if most != 1 else [text.strip()]
    while elements and not elements[-1]:
        elements.pop()
    if len(elements) > (most or _MOST_ROWS) or "${" in text:
        return None
    rows = [form.parse(element) for element in elements]
    if any(row is None for row in rows):
        return None
    return [row for row in rows if row is not None]


def format_rows(form: ElementForm, rows: Sequence[Row]) -> str:
    """Return the text of a list, without empty rows."""
    return _BETWEEN.join(text for row in rows if (text := form.format(row)))


def _parse_part(place: str) -> ElementPart:
    kind, _, choices = place.partition(":")
    return ElementPart(kind.strip() or "value", tuple(filter(None, choices.split("|"))))


def _build_pattern(between: Sequence[str]) -> str:
    groups = ["(.*?)"] * (len(between) - 2) + ["(.*)"] * (len(between) > 1)
    texts = [re.escape(text.strip()) if text.strip() else re.escape(text) for text in between]
    return texts[0] + "".join(
        rf"{group}\s*{text}\s*" if text else group
        for group, text in zip(groups, texts[1:], strict=True)
    )


UNKNOWN: Final = "not of this plugin"
MOST_UNKNOWN: Final = 100
"""Properties that the plugin does not have, of which more are only counted."""
_LONG: Final = 120
"""Characters of a text that still is edited on one line."""


class ControlKind(enum.Enum):
    """The kinds of controls that edit a property."""

    TEXT = "text"
    SWITCH = "switch"
    MASKED = "masked"
    LIST = "list"
    CODE = "code"
    """Several lines."""
    SCHEMA = "schema"
    ESCAPED = "escaped"
    """A text that a terminal cannot show, as a JSON string."""


class FieldPlan(NamedTuple):
    """One field of the form."""

    name: str
    declared: PluginProperty | None
    """The declared property; None for a property that the plugin does not have, or while the plugin is
    unknown.
    """

    def choose_control(self, text: str) -> ControlKind:
        """Choose the control of a value; a value that its usual control would change gets a simpler one."""
        declared = self.declared
        if not _is_showable(text):
            return ControlKind.ESCAPED
        if declared is None:
            return _choose_text_control(text)
        if declared.secret:
            return ControlKind.MASKED if "\n" not in text else ControlKind.ESCAPED
        if declared.type == "boolean" and text.strip().lower() in ("", "true", "false"):
            return ControlKind.SWITCH
        if declared.type == "schema":
            return ControlKind.SCHEMA if is_whole_schema(text) else ControlKind.CODE
        if declared.syntax is not None:
            return ControlKind.CODE
        form = find_element_form(declared)
        if form is not None:
            most = get_max_elements(declared, form)
            is_table = most is None or len(form.parts) > 1
            if is_table and parse_rows(form, text, most) is not None:
                return ControlKind.LIST
        return _choose_text_control(text)

    def find_language(self, text: str) -> str | None:
        """Return the language of a text of several lines."""
        if self.declared is None:
            return "json" if text[:1] in ("{", "[") else None
        return "json" if self.declared.type == "schema" else self.declared.syntax

    @property
    def is_required(self) -> bool:
        return self.declared is not None and self.declared.required


class FieldGroup(NamedTuple):
    """Fields that stand together."""

    heading: str
    """Empty for the first ones."""
    fields: list[FieldPlan]


def plan_form(
    declared: Mapping[str, PluginProperty] | None, given: Sequence[str]
) -> tuple[list[FieldGroup], int]:
    """Return the groups of a form, and the number of properties that it leaves out.

    Properties come in the order in which the plugin declares them, those without a heading first, and those
    that it does not have last.

    :param declared: None when the plugin is not there: all properties are shown as they stand.
    :param given: names of the properties in the document.
    """
    fields = {name: FieldPlan(name, each) for name, each in (declared or {}).items()}
    groups: dict[str, list[FieldPlan]] = {"": []}
    for field in fields.values():
        assert field.declared is not None
        groups.setdefault(field.declared.group or "", []).append(field)
    unknown = [FieldPlan(name, None) for name in given if name not in fields]
    shown = unknown[:MOST_UNKNOWN]
    if shown:
        heading = UNKNOWN if declared is not None else ""
        groups.setdefault(heading, []).extend(shown)
    return [FieldGroup(*each) for each in groups.items() if each[1]], len(unknown) - len(shown)


def is_whole_schema(text: str) -> bool:
    """Whether a schema can be edited as lines without losing anything of its JSON."""
    if not text.strip():
        return True
    try:
        return bool(Schema.parse_record(text).to_json() == json.loads(text))
    except (SchemaError, ValueError, RecursionError):
        return False


def _choose_text_control(text: str) -> ControlKind:
    return ControlKind.CODE if "\n" in text or len(text) > _LONG else ControlKind.TEXT


def _is_showable(text: str) -> bool:
    """Whether a text area shows and gives back exactly this text."""
    ends = text.replace("\r\n", "\n") if text.count("\r") == text.count("\n") else text
    return ends.isprintable() or all(c.isprintable() or c in "\n\t" for c in ends)


_TYPES: Final = (
    *("boolean", "int", "long", "float", "double", "bytes", "string"),
    *("date", "time", "timestamp", "datetime", "decimal"),
)
FUNCTIONS: Final = {
    "logicalStartTime(yyyy-MM-dd)": "the start time of the run",
    "logicalStartTime(yyyy-MM-dd,1d,UTC)": "a day before the start, in UTC",
}


class Suggestion(msgspec.Struct, frozen=True):
    """Something that can be put into a field."""

    text: str
    hint: str = ""
    """A short description of the suggestion."""


def suggest_joined_fields(inputs: Mapping[str, Schema]) -> list[Suggestion]:
    """``stage.field as name`` for each field of each input; names that are taken get that of their stage."""
    taken: set[str] = set()
    found = []
    for stage, schema in inputs.items():
        for field in schema:
            names = (field.name, *_list_numbered_names(f"{stage}_{field.name}".replace(" ", "_")))
            name = next(name for name in names if name not in taken)
            taken.add(name)
            found.append(Suggestion(f"{stage}.{field.name} as {name}", field.schema.display_name))
    return found


def suggest_join_keys(inputs: Mapping[str, Schema]) -> list[Suggestion]:
    """``a.id = b.id`` for what can be compared: fields that all inputs have, then others of one type.

    The others are offered where there are two inputs.
    """
    if len(inputs) < 2:
        return []
    first = next(iter(inputs.values()))
    common = [
        n for n in first.field_names if all(n in each.field_names for each in inputs.values())
    ]
    found = [
        Suggestion(" = ".join(f"{stage}.{name}" for stage in inputs), "in all inputs")
        for name in common
    ]
    if len(inputs) == 2:
        (left, ours), (right, theirs) = inputs.items()
        found += [
            Suggestion(
                f"{left}.{one.name} = {right}.{other.name}", f"both {one.schema.display_name}"
            )
            for one, other in itertools.product(ours, theirs)
            if one.name != other.name and _strip_null(one.schema) == _strip_null(other.schema)
        ]
    return found


def _list_numbered_names(name: str) -> tuple[str, ...]:
    return (name, *(f"{name}_{number}" for number in range(2, 1000)))


def _strip_null(schema: Schema) -> Schema:
    return schema.non_nullable if schema.is_nullable else schema


class FieldContext(msgspec.Struct):
    """The context that all fields of a form share; it is updated while they exist."""

    namespace: str = "default"
    inputs: dict[str, Schema | None] = {}
    output: Schema | None = None
    arguments: dict[str, str] = {}
    """The runtime arguments of the next run."""
    preferences: dict[str, str] = {}
    secure_keys: list[str] = []
    connections: list[str] = []

    def update(self, state: StageState | None) -> None:
        """Use the current schemas of a stage."""
        self.inputs = state.input_schemas if state is not None else {}
        self.output = state.output_schema if state is not None else None

    def set_names(
        self, preferences: dict[str, str], secure_keys: list[str], connections: list[str]
    ) -> None:
        """Use the names that macros can refer to."""
        self.preferences, self.secure_keys = preferences, secure_keys
        self.connections = connections

    @property
    def first_input(self) -> Schema | None:
        """The schema of the first input; None without one, or while it is not known."""
        return next(iter(self.inputs.values()), None)

    def create_path_query(self, path: str) -> PathQuery:
        """Return the query for a path of the stage, with the arguments of the next run."""
        return PathQuery(path, self.namespace, self.arguments)

    def list_suggestions(self, part: ElementPart) -> list[Suggestion]:
        """Return suggestions for a part of an element."""
        if part.choices:
            return [Suggestion(choice) for choice in part.choices]
        match part.kind:
            case "input-field":
                return _suggest_fields(
                    schema for schema in self.inputs.values() if schema is not None
                )
            case "output-field":
                return _suggest_fields([self.output] if self.output is not None else [])
            case "input-stage":
                return [Suggestion(stage, "input") for stage in self.inputs]
            case "joined-field":
                return suggest_joined_fields(self._known_inputs)
            case "join-keys":
                return suggest_join_keys(self._known_inputs)
            case "type":
                return [Suggestion(type) for type in _TYPES]
        return []

    @property
    def _known_inputs(self) -> dict[str, Schema]:
        return {stage: schema for stage, schema in self.inputs.items() if schema is not None}

    def list_macros(self) -> list[Suggestion]:
        """Return suggestions for the name of a macro: arguments first, then preferences, keys and
        functions.
        """
        found = {name: f"argument: {value}" for name, value in self.arguments.items()}
        for name, value in self.preferences.items():
            found.setdefault(name, f"preference: {value}")
        found |= {f"secure({key})": "secure key" for key in self.secure_keys}
        found |= {f"conn({name})": "connection" for name in self.connections}
        found |= FUNCTIONS
        return [Suggestion(name, hint) for name, hint in found.items()]


def _suggest_fields(schemas: Iterable[Schema]) -> list[Suggestion]:
    found: dict[str, str] = {}
    for schema in schemas:
        for field in schema:
            found.setdefault(field.name, field.schema.display_name)
    return [Suggestion(name, type) for name, type in found.items()]
