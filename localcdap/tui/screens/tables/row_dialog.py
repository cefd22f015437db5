"""Changes of rows of a dataset, and the dialog in which a row is changed as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static, TextArea

from localcdap.api.errors import BadRequestError, ConflictError
from localcdap.api.record_json import decode_json_records, encode_json_record
from localcdap.api.schema import Schema
from localcdap.decoders import decode_json
from localcdap.host.cdap import Cdap
from localcdap.tui.dialogs.dialog_screen import DialogScreen
from localcdap.tui.labels import sanitize_name

if TYPE_CHECKING:
    from localcdap.api.app.transactions import TransactionContext
    from localcdap.api.dataset.dataset import Dataset

_KEY_VALUE: Final = "keyValueTable"
_EDITED_TYPES: Final = ("table", "indexedTable", _KEY_VALUE)


class EditedRow(msgspec.Struct, frozen=True):
    """A row that is being changed, or a new one."""

    namespace: str
    dataset: str
    type: str
    schema: Schema
    key: str
    """The field that identifies a row."""
    before: str | None
    """The row as JSON text; None for a new row."""

    @property
    def text(self) -> str:
        """The JSON text to begin with: the row, or one in which every field is null."""
        if self.before is not None:
            return self.before
        return _to_text(dict.fromkeys(self.schema.field_names))

    def parse(self, text: str) -> dict[str, Any]:
        """Return the row of a JSON text.

        :raises BadRequestError: when it is not a row of the dataset; lists each field.
        """
        try:
            given = decode_json(text.encode())
        except msgspec.DecodeError as error:
            raise BadRequestError(f"This is not JSON: {error}.") from error
        if not isinstance(given, dict):
            raise BadRequestError('A row is an object: {"name": value, …}.')
        unknown = [name for name in given if self.schema.field(name) is None]
        if unknown:
            fields = ", ".join(self.schema.field_names)
            raise BadRequestError(f"There is no field '{unknown[0]}'; fields: {fields}.")
        return decode_json_records(self.schema, [given])[0]


def open_row(cdap: Cdap, namespace: str, name: str, key: Any = None) -> EditedRow:
    """Read a row to change it.

    :param key: of the row; None for a new row.
    :raises BadRequestError: when rows of the dataset cannot be changed one by one.
    :raises ConflictError: when there is no such row any more.
    """
    detail = cdap.datasets.describe(namespace, name)
    key_field = "key" if detail.type == _KEY_VALUE else detail.properties.get("schema.row.field")
    if detail.type not in _EDITED_TYPES or detail.schema is None or key_field is None:
        has_type = detail.type in _EDITED_TYPES
        reason = "it has no key" if has_type else f"its type is '{detail.type}'"
        raise BadRequestError(
            f"Rows of '{name}' cannot be changed one by one, because {reason}.",
            f"Types with such rows: {', '.join(_EDITED_TYPES)}.",
        )
    row = EditedRow(namespace, name, detail.type, detail.schema, key_field, None)
    if key is None:
        return row
    held = cdap.transactions.run(lambda tx: _read(tx, row, key))
    if held is None:
        raise ConflictError(
            f"There is no row with the key {key!r} any more.", "Read the rows again."
        )
    return msgspec.structs.replace(row, before=held)


def save_row(cdap: Cdap, row: EditedRow, after: Mapping[str, Any]) -> None:
    """Write a row. One whose key has changed takes the place of the old one.

    :raises ConflictError: when the row has changed since it was opened, or its new key is taken.
    """

    def save(tx: TransactionContext) -> None:
        key, old = after[row.key], _require_unchanged(tx, row)
        is_new = row.before is None or old != key
        if is_new and _read(tx, row, key) is not None:
            raise ConflictError(f"There is a row with the key {key!r} already.")
        if row.before is not None and old != key:
            _open(tx, row).delete(old)
        if row.type == _KEY_VALUE:
            _open(tx, row).write(key, after["value"])
        else:
            _open(tx, row).write(after)

    cdap.transactions.run(save)


def delete_row(cdap: Cdap, row: EditedRow) -> None:
    """Remove a row.

    :raises ConflictError: when it has changed since it was opened.
    """

    def delete(tx: TransactionContext) -> None:
        _open(tx, row).delete(_require_unchanged(tx, row))

    cdap.transactions.run(delete)


def _require_unchanged(tx: TransactionContext, row: EditedRow) -> Any:
    """Return the key of a row; None for a new one."""
    if row.before is None:
        return None
    key = row.parse(row.before)[row.key]
    if _read(tx, row, key) != row.before:
        raise ConflictError(
            f"The row with the key {key!r} has changed since it was opened.", "Open it again."
        )
    return key


def _read(tx: TransactionContext, row: EditedRow, key: Any) -> str | None:
    """Return a row as JSON text; None when there is none."""
    dataset = _open(tx, row)
    if row.type == _KEY_VALUE:
        value = dataset.read(key)
        return None if value is None else _to_text({"key": key, "value": value})
    found = dataset.get(key)
    return (
        None if found is None else _to_text({name: found[name] for name in row.schema.field_names})
    )


def _open(tx: TransactionContext, row: EditedRow) -> Any:
    dataset: Dataset = tx.dataset(row.dataset, namespace=row.namespace)
    return dataset


def _to_text(row: Mapping[str, Any]) -> str:
    return json.dumps(encode_json_record(dict(row)), indent=2, ensure_ascii=False)


class RowDialog(DialogScreen[bool]):
    """Changes a row, or makes a new one. The answer is True when it was saved."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", id="row.save", priority=True),
    ]
    DEFAULT_CSS = """
    RowDialog > #dialog { width: 84; height: 26; max-height: 92%; }
    RowDialog TextArea { height: 1fr; background: $panel; }
    RowDialog TextArea:blur { border: tall $panel; }
    RowDialog #dialog-problem { max-height: 6; margin-top: 1; }
    """
    HAS_FOOTER = True

    def __init__(self, row: EditedRow) -> None:
        super().__init__()
        self._row: Final = row

    def compose_body(self) -> ComposeResult:
        row = self._row
        name = sanitize_name(row.dataset)
        verb = "New row of" if row.before is None else "Row of"
        yield Static(Content(f"{verb} {name}  key {row.key}"), id="dialog-title")
        yield TextArea(row.text, tab_behavior="focus", id="row-text")
        yield Static(id="dialog-problem")

    @on(TextArea.Changed)
    def _check(self, event: TextArea.Changed) -> None:
        event.stop()
        try:
            self._row.parse(event.text_area.text)
            self.show_problem("")
        except BadRequestError as error:
            self.show_problem(error.message)

    def action_save(self) -> None:
        """Write the row; an error stays in sight."""
        row = self._row
        try:
            after = row.parse(self.query_one("#row-text", TextArea).text)
        except BadRequestError as error:
            self.show_problem(error.message)
            return
        self.call(
            lambda cdap: save_row(cdap, row, after),
            on_result=lambda _: self.dismiss(True),
            on_error=self.show_error,
            group="row",
            ordered=True,
        )
