from __future__ import annotations

import inspect
import pickle
import re

import pytest

from localcdap.api import errors
from localcdap.api.errors import (
    DocumentError,
    ErrorDetails,
    HostLostError,
    InvalidFieldError,
    InvalidPipelineError,
    InvalidStageError,
    LocalcdapError,
    PluginError,
    StageError,
)

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, LocalcdapError)
]


def made(cls: type[LocalcdapError]) -> LocalcdapError:
    """An error of the class with a value for every argument of its constructor."""
    samples = {
        "message": "Something is wrong.",
        "corrective_action": "Correct it.",
        "file": "pipeline.json",
        "line": 3,
        "column": 14,
        "errors": ["one", "two"],
        "field": "path",
        "entity": "namespace:team",
        "failures": [{"message": "wrong"}],
        "traceback": ["frame one", "frame two"],
        "stage": "hash",
        "record": '{"id": 1}',
        "was_sent": False,
        "status": 401,
        "table": "notes",
        "fields": ["id"],
        "property": "schema",
        "reasons": ["Something is wrong.", "So is this."],
        "details": ErrorDetails(),
    }
    parameters = list(inspect.signature(cls).parameters)
    return cls(**{name: samples[name] for name in parameters})


def state(error: LocalcdapError) -> dict:
    """What another process gets; a record at fault stays, since it may hold secrets."""
    sent = {k: v for k, v in vars(error).items() if k != "record"}
    return {k: str(v) if k == "errors" else v for k, v in sent.items()}


def drawn() -> dict[str, str]:
    """Parent of each class in the docstring's tree."""
    parents, above = {}, {0: "LocalcdapError"}
    for line in errors.__doc__.splitlines():
        if match := re.match(r"    ([│ ├└─]*)── (\w+)", line):
            depth = len(match[1]) // 4 + 1
            parents[match[2]] = above[depth - 1]
            above[depth] = match[2]
    return parents


def test_the_tree_in_the_docstring_is_the_tree_of_classes():
    assert drawn() == {
        cls.__name__: cls.__base__.__name__ for cls in CLASSES if cls is not LocalcdapError
    }


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_attributes_rebuild_an_error(cls):
    error = made(cls)

    again = cls(**error.attributes())

    assert state(again) == state(error)
    assert (str(again), again.full_message) == (str(error), error.full_message)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_an_error_can_be_pickled(cls):
    error = made(cls)

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is cls
    assert again.attributes() == error.attributes()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_attributes_are_values_for_other_processes(cls):
    import msgspec

    attributes = made(cls).attributes()

    sent = msgspec.json.decode(msgspec.json.encode(attributes))
    assert cls(**sent).attributes() == attributes


def test_messages():
    error = LocalcdapError("It is wrong.", "Correct it.")

    assert str(error) == error.message == "It is wrong."
    assert error.full_message == "It is wrong. Correct it."
    assert LocalcdapError("It is wrong.").full_message == "It is wrong."


def test_reasons_of_a_stage_are_flattened():
    inner = InvalidStageError(["a", InvalidFieldError("path", "b", "Fix.")])
    error = InvalidStageError([inner, ValueError("c")])

    assert [type(e) for e in error.errors] == [LocalcdapError, InvalidFieldError, ValueError]
    assert str(error) == "a; b; c"
    assert isinstance(error.errors[1], InvalidFieldError)
    assert error.errors[1].corrective_action == "Fix."
    assert str(InvalidStageError([])) == "invalid stage"


def test_an_invalid_field_is_its_own_reason():
    error = InvalidFieldError("path", "It is wrong.")

    assert error.errors == (error,)
    assert isinstance(error, InvalidStageError)


def test_optional_details_are_absent_by_default():
    assert DocumentError("x").attributes() == {
        "message": "x",
        "corrective_action": None,
        "file": None,
        "line": None,
        "column": None,
    }
    assert InvalidPipelineError("x").failures == []
    assert PluginError("x").traceback == HostLostError("x").traceback == []
    assert StageError("x").stage is None
