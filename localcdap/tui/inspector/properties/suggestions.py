"""The suggestions of a field."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import msgspec

from localcdap.api.schema import Schema


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
