"""Lists in properties as tables: what one element is made of, and the way between text and rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from localcdap.api.config import PluginProperty

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_BETWEEN: Final = ","
_MOST_ROWS: Final = 60
"""Elements of a list that is edited as a table; a longer one is edited as text."""

INPUT_FIELD: Final = "input-field"
OUTPUT_FIELD: Final = "output-field"
INPUT_STAGE: Final = "input-stage"
JOINED_FIELD: Final = "joined-field"
JOIN_KEYS: Final = "join-keys"
TYPE: Final = "type"
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
