"""Dialogs with a form of short values, among them the forms of trainings and searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from localcdap.text import sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_row
from localcdap.tui.labels import sanitize_name
from localcdap.tui.screens.analytics.calls import Algorithm, Experiment, Parameter


@dataclass(frozen=True)
class FormField:
    """A value of a form.

    :param default: what an empty field stands for; it is shown greyed.
    :param hint: stands right of the field.
    :param detail: stands below the fields while this one has the focus.
    :param suggestions: values that are completed while they are typed.
    """

    name: str
    label: str
    value: str = ""
    default: str = ""
    hint: str = ""
    detail: str = ""
    suggestions: Sequence[str] = ()


def make_parameter_fields(
    parameters: Sequence[Parameter], given: Mapping[str, str]
) -> list[FormField]:
    """Return a field for each parameter; values that are the defaults stay empty."""
    return [
        FormField(
            each.name,
            each.label,
            "" if given.get(each.name, each.default) == each.default else given[each.name],
            each.default,
            each.rule,
            each.description,
            each.valid_values,
        )
        for each in parameters
    ]


class FormDialog(DialogScreen[dict[str, str]]):
    """Asks for some values. The answer has those that were given; empty ones are left out.

    :param check: returns what is wrong with the values, or None.
    """

    DEFAULT_CSS = """
    FormDialog {
        & > #dialog { width: 104; max-width: 98%; max-height: 94%; }
        & #form-note { color: $foreground 60%; height: auto; }
        & #form-rows { height: auto; max-height: 22; scrollbar-size-vertical: 1; }
        & .row { height: 1; }
        & .row > .label { width: 24; text-wrap: nowrap; text-overflow: ellipsis; }
        & .row > Input:focus { background: $primary 25%; }
        & .row > .hint {
            width: 40%; max-width: 34; padding: 0 0 0 1; color: $foreground 60%;
            text-wrap: nowrap; text-overflow: ellipsis;
        }
        & #form-detail { color: $foreground 60%; height: 2; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "accept", "start", id="form.go", priority=True),
        Binding("down", "app.focus_next", "next", show=False, priority=True),
        Binding("up", "app.focus_previous", "previous", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        fields: Sequence[FormField],
        *,
        verb: str,
        note: str = "",
        check: Callable[[dict[str, str]], str | None] | None = None,
    ) -> None:
        super().__init__()
        self._title = title
        self._fields = {each.name: each for each in fields}
        self._verb = verb
        self._note = note
        self._check = check

    def compose_body(self) -> ComposeResult:
        yield Static(Content(sanitize_for_terminal(self._title)), id="dialog-title")
        with VerticalScroll(id="form-rows", can_focus=False):
            for field in self._fields.values():
                yield _create_row(field)
        if self._note:
            yield Static(Content(f"\n{sanitize_for_terminal(self._note)}"), id="form-note")
        yield Static(id="form-detail")
        yield Static(id="dialog-problem")
        yield from self.compose_buttons(f"{self._verb}  ctrl+r")

    @property
    def values(self) -> dict[str, str]:
        """The values that are given."""
        found = {each.name or "": each.value.strip() for each in self.query(Input)}
        return {name: value for name, value in found.items() if value}

    def on_descendant_focus(self) -> None:
        field = self._fields.get(getattr(self.focused, "name", None) or "")
        detail = "" if field is None else field.detail
        self.query_one("#form-detail", Static).update(Content(sanitize_for_terminal(detail)))

    def action_accept(self) -> None:
        """Answer with the values, or say what is wrong with them."""
        values = self.values
        problem = None if self._check is None else self._check(values)
        if problem is None:
            self.dismiss(values)
        else:
            self.show_problem(problem)

    @on(Input.Submitted)
    def _go_on(self, event: Input.Submitted) -> None:
        event.stop()
        self.focus_next()


def _create_row(field: FormField) -> Horizontal:
    label, default, hint = (
        sanitize_name(text) for text in (field.label, field.default, field.hint)
    )
    return create_row(
        label,
        Input(
            field.value,
            placeholder=default,
            suggester=SuggestFromList(field.suggestions) if field.suggestions else None,
            name=field.name,
            compact=True,
        ),
        Static(Content(hint), classes="hint"),
    )


_KEPT: Final = "unknown categories"
_SKIP: Final = "skip"
_KEEP: Final = "keep"
_NAME: Final = "name"


def list_algorithms(algorithms: Mapping[str, Algorithm], experiment: Experiment) -> list[Algorithm]:
    """Return the algorithms that predict what an experiment wants: classes or numbers."""
    return [e for e in algorithms.values() if e.is_regression != experiment.is_categorical]


def make_training_fields(
    algorithm: Algorithm, name: str, given: Mapping[str, str], handle_invalid: str
) -> list[FormField]:
    """Return the fields of a training: the name of the model, and the parameters with greyed defaults."""
    return [
        FormField(_NAME, "name of the model", name),
        *make_parameter_fields(algorithm.hyperparameters, given),
        _make_kept_field(handle_invalid),
    ]


def make_training(algorithm: Algorithm, values: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the name of the model, and the request of its training."""
    names = [each.name for each in algorithm.hyperparameters]
    given = {name: values[name] for name in names if name in values}
    return values[_NAME], {
        "algorithm": algorithm.id,
        "hyperparameters": given,
        "handleInvalid": values.get(_KEPT, _SKIP),
    }


def check_training(values: Mapping[str, str]) -> str | None:
    """Return what is wrong with the values; the application checks the parameters."""
    if not values.get(_NAME):
        return "Give the model a name."
    return _check_kept(values)


def make_search_fields(algorithm: Algorithm, experiment: Experiment) -> list[FormField]:
    """Return the fields of a search: several values for each parameter, folds, limit and metric."""
    parameters = make_parameter_fields(algorithm.hyperparameters, {})
    metrics = experiment.metrics
    return [
        *parameters,
        FormField("folds", "folds", default="3", hint="2 … 20", detail=_FOLDS),
        FormField("limit", "most combinations", default="20", hint="1 … 1000", detail=_LIMIT),
        FormField(
            "metric", "best by", default=metrics[0], hint=", ".join(metrics), suggestions=metrics
        ),
        _make_kept_field(_SKIP),
    ]


_FOLDS: Final = (
    "Each combination is trained so often, each time tested on another part of the training data."
)
_LIMIT: Final = "Of more combinations, so many random ones are tried."


def make_search(algorithm: Algorithm, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the request of a search."""
    grid = {
        each.name: split_values(values[each.name])
        for each in algorithm.hyperparameters
        if each.name in values
    }
    more = {name: int(values[name]) for name in ("folds", "limit") if name in values}
    metric = {"metric": values["metric"]} if "metric" in values else {}
    kept = {"handleInvalid": values.get(_KEPT, _SKIP)}
    return {"algorithm": algorithm.id, "grid": grid, **more, **metric, **kept}


def check_search(algorithm: Algorithm, values: Mapping[str, str]) -> str | None:
    """Return what is wrong with the values; the application checks those of the parameters."""
    for name in ("folds", "limit"):
        if not values.get(name, "1").isdecimal():
            return f"'{values[name]}' must be a whole number."
    if not any(len(split_values(values.get(e.name, ""))) > 1 for e in algorithm.hyperparameters):
        return "Give at least one parameter several values, such as 2 5 8."
    return _check_kept(values)


def split_values(text: str) -> list[str]:
    """Return the values of a field, which have blanks between them."""
    return list(dict.fromkeys(text.split()))


def make_name(algorithm: Algorithm, taken: Sequence[str]) -> str:
    """Return a name for a model that no other one has."""
    base = algorithm.label.lower()
    number = 1
    while (name := f"{base} {number}") in taken:
        number += 1
    return name


def _make_kept_field(handle_invalid: str) -> FormField:
    return FormField(
        _KEPT,
        _KEPT,
        "" if handle_invalid == _SKIP else handle_invalid,
        _SKIP,
        f"{_SKIP}, {_KEEP}",
        "Records with a category that the training data does not have: left out, or kept.",
        (_SKIP, _KEEP),
    )


def _check_kept(values: Mapping[str, str]) -> str | None:
    if values.get(_KEPT, _SKIP) not in (_SKIP, _KEEP):
        return f"Unknown categories: {_SKIP} or {_KEEP}."
    return None
