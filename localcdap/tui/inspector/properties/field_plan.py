"""Which fields the form of a stage has, in which order, and what each is edited with."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from localcdap.api.config import PluginProperty
from localcdap.api.errors import SchemaError
from localcdap.api.schema import Schema
from localcdap.tui.inspector.properties.elements import (
    find_element_form,
    get_max_elements,
    parse_rows,
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
