"""The forms of trainings and searches: their fields, and the requests that are made of the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from localcdap.tui.screens.analytics.answers import Algorithm, Experiment
from localcdap.tui.screens.analytics.form import FormField, make_parameter_fields

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
