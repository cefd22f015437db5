"""USER metadata is checked with the rules and messages of CDAP 6 ``MetadataValidator``."""

from __future__ import annotations

import pytest

from localcdap.api.errors import BadRequestError
from localcdap.api.metadata import Metadata, find_problems, require_valid

NAME = (
    "Illegal format for '{}'. Should only contain alphanumeric characters (a-z, A-Z, 0-9), "
    "underscores and hyphens."
)
VALUE = (
    "Illegal format for the value '{}'. Should only contain alphanumeric characters (a-z, A-Z, 0-9), "
    "underscores, hyphens and whitespaces."
)


@pytest.mark.parametrize(
    ("metadata", "problems"),
    [
        (Metadata(), []),
        (Metadata.of({"": ""}, [""]), []),
        (Metadata.of({"aZ_-9": "a b\tc_-"}, ["aZ_-9"]), []),
        (Metadata.of({"a b": "x"}), [NAME.format("a b")]),
        (Metadata.of({"é": "x"}), [NAME.format("é")]),
        (Metadata.of({"a": "x.y"}), [VALUE.format("x.y")]),
        (Metadata.of({"TAGS": "x"}), ["Could not set metadata with reserved key tags"]),
        (Metadata.of({"k" * 51: "x"}), [f"Metadata {'k' * 51} exceeds maximum of 50 characters."]),
        (Metadata.of({"k": "x" * 51}), [f"Metadata {'x' * 51} exceeds maximum of 50 characters."]),
        (Metadata.of(tags=["a b", "tags"]), [NAME.format("a b")]),
        (Metadata.of({"k": "x" * 50}, ["t" * 50]), []),
        (
            Metadata.of({"a!": "x!", "k": "y!"}, ["t!"]),
            [NAME.format("a!"), VALUE.format("y!"), NAME.format("t!")],
        ),
    ],
)
def test_problems_are_in_the_words_of_the_original(metadata: Metadata, problems: list[str]) -> None:
    assert find_problems(metadata) == problems


def test_the_greatest_length_can_be_set() -> None:
    assert find_problems(Metadata.of({"key": "value"}), max_chars=5) == []
    assert find_problems(Metadata.of({"key": "values"}), max_chars=5) != []


def test_all_problems_are_in_one_error() -> None:
    with pytest.raises(BadRequestError) as refused:
        require_valid(Metadata.of({"a!": ""}, ["b!"]))
    assert refused.value.message == f"{NAME.format('a!')} {NAME.format('b!')}"
