"""The definition of a join: parsing and validation (CDAP 6 ``JoinerConfig``, ``JoinDefinition``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from localcdap.api import FailureCollector, Field, Schema

from ..aggregators.keys import is_comparable

_AS: Final = " as "
_SQL_TOKEN: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|`[^`]+`|[\w$]+|\S")


class SelectedField(NamedTuple):
    """An output field: a field of an input, under an alias."""

    stage: str
    field: str
    alias: str

    def __str__(self) -> str:
        return f"{self.stage}.{self.field} as {self.alias}"


@dataclass(frozen=True)
class JoinDefinition:
    """A parsed join; :meth:`check` compares it with the inputs."""

    selected: tuple[SelectedField, ...]
    required: frozenset[str]
    in_memory: frozenset[str]
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Key fields by stage, in the same order for each stage; empty for a join on a condition."""
    condition: str | None = None
    """An SQL expression on fields of the aliases; None for a join on keys."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Alias by stage; the alias of any other stage is its name."""

    def get_alias(self, stage: str) -> str:
        return self.aliases.get(stage, stage)

    def check(self, inputs: Mapping[str, Schema | None], failures: FailureCollector) -> None:
        """Add failures for all properties that do not fit the inputs."""
        if self.condition is None:
            self._check_keys(inputs, failures)
        else:
            self._check_condition(self.condition, inputs, failures)
        self._check_selected(inputs, failures)
        self._check_names(inputs, failures)

    def _check_names(self, inputs: Mapping[str, Schema | None], failures: FailureCollector) -> None:
        for name, stages in (
            ("requiredInputs", self.required),
            ("inMemoryInputs", self.in_memory),
            ("inputAliases", self.aliases),
        ):
            for stage in sorted(set(stages) - set(inputs)):
                failures.add(
                    f"Stage '{stage}' is not an input of the join.",
                    f"Choose from: {', '.join(inputs)}.",
                ).with_config_property(name, element=stage)
        if inputs and self.in_memory >= set(inputs):
            failures.add(
                "Cannot broadcast all stages.", "Leave the largest input out of the list."
            ).with_config_property("inMemoryInputs")

    def _check_keys(self, inputs: Mapping[str, Schema | None], failures: FailureCollector) -> None:
        before = len(failures)
        if set(inputs) - set(self.keys):
            failures.add(
                "There should be one join key from each of the stages",
                "Please add join keys for each stage.",
            ).with_config_property("joinKeys")
        for stage, names in self.keys.items():
            if stage not in inputs:
                failures.add(
                    f"Join key for stage '{stage}' is invalid. Stage '{stage}' is not an input of "
                    "the join.",
                    f"Choose from: {', '.join(inputs)}.",
                ).with_config_property("joinKeys")
                continue
            schema = inputs[stage]
            for name in names if schema is not None else ():
                if schema is not None and schema.field(name) is None:
                    failures.add(
                        f"Join key for stage '{stage}' is invalid. Field '{name}' does not exist in "
                        "the stage."
                    ).with_config_property("joinKeys").with_input_field(name, stage)
        if len(failures) == before:
            self._check_key_types(inputs, failures)

    def _check_key_types(
        self, inputs: Mapping[str, Schema | None], failures: FailureCollector
    ) -> None:
        known = [(stage, schema) for stage in self.keys if (schema := inputs[stage]) is not None]
        for i in range(len(next(iter(self.keys.values())))):
            keys = [(stage, self.keys[stage][i], schema) for stage, schema in known]
            first: tuple[str, str, Schema] | None = None
            for stage, name, schema in keys:
                type = _get_field_type(schema, name)
                if not is_comparable(type):
                    failures.add(
                        f"Join key '{stage}'.'{name}' is or contains a map, and maps cannot be "
                        "compared."
                    ).with_config_property("joinKeys").with_input_field(name, stage)
                if first is None:
                    first = (stage, name, type)
                elif (first[2].type, first[2].logical_type) != (type.type, type.logical_type):
                    failures.add(
                        f"Type mismatch on join keys. '{first[0]}'.'{first[1]}' is of type "
                        f"'{first[2].display_name}' while '{stage}'.'{name}' is of type "
                        f"'{type.display_name}'.",
                        "Convert one of them in an earlier stage.",
                    ).with_config_property("joinKeys").with_input_field(name, stage)

    def _check_condition(
        self, condition: str, inputs: Mapping[str, Schema | None], failures: FailureCollector
    ) -> None:
        if len(inputs) != 2:
            failures.add(
                "Advanced join conditions can only be used when there are two inputs."
            ).with_config_property("conditionType")
        if self.required < set(inputs) and not self.in_memory:
            failures.add(
                "Advanced outer joins must specify an input to load in memory."
            ).with_config_property("inMemoryInputs")
        known = {self.get_alias(stage).lower(): stage for stage in inputs}
        if len(known) < len(inputs):
            failures.add("Two inputs have the same alias.").with_config_property("inputAliases")
        fields = {n.lower() for schema in inputs.values() if schema for n in schema.field_names}
        for alias, name in find_qualified_names(condition):
            stage = known.get(alias.lower())
            schema = inputs[stage] if stage is not None else None
            if stage is None and alias.lower() not in fields:
                failures.add(
                    f"'{alias}' in the join condition is neither an input nor an alias of one.",
                    f"Choose from: {', '.join(map(self.get_alias, inputs))}.",
                ).with_config_property("conditionExpression")
            elif schema is not None and name.lower() not in map(str.lower, schema.field_names):
                failures.add(
                    f"Field '{name}' in the join condition does not exist in stage '{stage}'."
                ).with_config_property("conditionExpression")

    def _check_selected(
        self, inputs: Mapping[str, Schema | None], failures: FailureCollector
    ) -> None:
        names: set[str] = set()
        for selected in self.selected:
            stage, name, alias = selected
            message = None
            schema = inputs.get(stage)
            if stage not in inputs:
                message = (
                    f"Selected field '{stage}'.'{name}' is invalid because stage '{stage}' is not "
                    "part of the join."
                )
            elif schema is not None and schema.field(name) is None:
                message = (
                    f"Selected field '{stage}'.'{name}' is invalid because stage '{stage}' does not "
                    f"contain field '{name}'."
                )
            elif alias in names:
                message = (
                    f"Field '{alias}' from stage '{stage}' is a duplicate. "
                    "Set an alias to make it unique."
                )
            names.add(alias)
            if message is not None:
                failures.add(message).with_config_property("selectedFields", element=str(selected))

    def build_output_schema(self, inputs: Mapping[str, Schema | None]) -> Schema | None:
        """Return the schema of the joined records of a valid join; None if a selected input has no schema."""
        fields = []
        for selected in self.selected:
            schema = inputs[selected.stage]
            if schema is None:
                return None
            type = _get_declared_type(schema, selected.field)
            is_optional = selected.stage not in self.required
            fields.append(Field(selected.alias, type.as_nullable if is_optional else type))
        return Schema.record("join.output", fields)

    def list_compared_fields(self, inputs: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """Return the fields, with their input, that decide which records are joined.

        :param inputs: the fields by input.
        """
        if self.condition is None:
            return [(stage, key) for stage, keys in self.keys.items() for key in keys]
        stages = {self.get_alias(stage).lower(): stage for stage in inputs}
        found: dict[tuple[str, str], None] = {}
        for owner, name in find_qualified_names(self.condition):
            stage = stages.get(owner.lower())
            fields = inputs[stage] if stage is not None else ()
            found |= {(stage or "", each): None for each in fields if each.lower() == name.lower()}
        qualified = {name.lower() for _, name in found}
        for word in {token.strip("`").lower() for token in _SQL_TOKEN.findall(self.condition)}:
            if word not in qualified:
                found |= {
                    (stage, each): None
                    for stage, fields in inputs.items()
                    for each in fields
                    if each.lower() == word
                }
        return list(found)

    def list_input_fields(self, stage: str, schema: Schema) -> list[str]:
        """Return the fields of an input that the join reads."""
        needed = {s.field for s in self.selected if s.stage == stage}
        needed.update(self.keys.get(stage, ()))
        words = {token.strip("`").lower() for token in _SQL_TOKEN.findall(self.condition or "")}
        return [n for n in schema.field_names if n in needed or n.lower() in words]


def check_output(expected: Schema, given: Schema, failures: FailureCollector) -> None:
    """Compare the schema of a join with the schema in its properties."""
    for made in expected:
        declared = given.field(made.name)
        if declared is None:
            failures.add(
                f"Provided schema is missing fields: {made.name}.",
                "Select fewer fields or update the output schema.",
            ).with_config_property("schema")
        elif made.schema.non_nullable.type is not declared.schema.non_nullable.type:
            failures.add(
                f"Provided schema does not match expected schema. Field '{made.name}' is a "
                f"'{declared.schema.display_name}' but is expected to be a "
                f"'{made.schema.display_name}'"
            ).with_output_field(made.name)
        elif made.schema.is_nullable and not declared.schema.is_nullable:
            failures.add(
                "Provided schema does not match expected schema. "
                f"Field '{made.name}' should be nullable"
            ).with_output_field(made.name)
    for extra in given:
        if expected.field(extra.name) is None:
            failures.add(
                f"The output schema contains extra field '{extra.name}' that is not selected.",
                "Select it from one of the inputs, or remove it from the output schema.",
            ).with_output_field(extra.name)


def parse_selected(text: str, failures: FailureCollector) -> tuple[SelectedField, ...]:
    """Parse ``stage.field as alias, …``."""
    found = []
    for element in _split(text, ","):
        parts = _split(element, _AS)
        path = _split(parts[0], ".")
        if len(path) != 2 or len(parts) > 2:
            failures.add(
                "Invalid syntax. Selected Fields must be of syntax "
                f"<stageName>.<oldFieldName> as <alias>, but found {element}"
            ).with_config_property("selectedFields", element=element)
            continue
        found.append(SelectedField(path[0], path[1], parts[-1] if len(parts) == 2 else path[1]))
    if not found and not len(failures):
        failures.add("Must select at least one field").with_config_property("selectedFields")
    return tuple(found)


def parse_keys(text: str, failures: FailureCollector) -> dict[str, tuple[str, ...]]:
    """Parse ``a.x = b.y & a.z = b.w`` into the key fields of each stage."""
    keys: dict[str, tuple[str, ...]] = {}
    comparisons = _split(text, "&")
    if not comparisons:
        failures.add("Join keys cannot be empty").with_config_property("joinKeys")
    for comparison in comparisons:
        seen: set[str] = set()
        for element in _split(comparison, "="):
            path = _split(element, ".")
            if len(path) != 2:
                failures.add(
                    f"'{element}' in the join keys is not of syntax <stageName>.<fieldName>."
                ).with_config_property("joinKeys")
                return {}
            seen.add(path[0])
            keys[path[0]] = (*keys.get(path[0], ()), path[1])
        if seen != set(keys) or len({len(names) for names in keys.values()}) != 1:
            failures.add(
                "There should be one join key from each of the stages",
                "Please add join keys for each stage.",
            ).with_config_property("joinKeys")
            return {}
    return keys


def parse_aliases(text: str, failures: FailureCollector) -> dict[str, str]:
    """Parse ``stage=alias;stage2=alias2``."""
    aliases = {}
    for element in _split(text, ";"):
        stage, equals, alias = (part.strip() for part in element.partition("="))
        if equals and stage and alias:
            aliases[stage] = alias
        else:
            failures.add(
                f"'{element}' in the input aliases is not of syntax <stageName>=<alias>."
            ).with_config_property("inputAliases", element=element)
    return aliases


def find_qualified_names(sql: str) -> Iterator[tuple[str, str]]:
    """Yield each ``name.field`` of an SQL expression, for a longer path its first two parts."""
    tokens = _SQL_TOKEN.findall(sql)
    at = 0
    while at + 2 < len(tokens):
        first, dot, second = tokens[at : at + 3]
        if dot == "." and _is_name(first) and _is_name(second):
            yield first.strip("`"), second.strip("`")
            at += 3
            while at + 1 < len(tokens) and tokens[at] == ".":
                at += 2
        else:
            at += 1


def _is_name(token: str) -> bool:
    return token.startswith("`") or (token[0].isalpha() or token[0] == "_")


def _split(text: str, separator: str) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]


def _get_declared_type(schema: Schema, name: str) -> Schema:
    found = schema.field(name)
    assert found is not None, name
    return found.schema


def _get_field_type(schema: Schema, name: str) -> Schema:
    return _get_declared_type(schema, name).non_nullable
