"""The properties of a join as its parts, and its output schema (hydrator-plugins ``JoinerConfig``)."""

from __future__ import annotations

from typing import Final

from localcdap.api import FailureCollector, JoinField, JoinKey, Schema

_AS: Final = " as "


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


def parse_selected(text: str, failures: FailureCollector) -> list[JoinField]:
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
        found.append(JoinField(path[0], path[1], parts[-1] if len(parts) == 2 else path[1]))
    if not found and not len(failures):
        failures.add("Must select at least one field").with_config_property("selectedFields")
    return found


def parse_keys(text: str, failures: FailureCollector) -> list[JoinKey]:
    """Parse ``a.x = b.y & a.z = b.w`` into the key of each stage."""
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
                return []
            seen.add(path[0])
            keys[path[0]] = (*keys.get(path[0], ()), path[1])
        if seen != set(keys) or len({len(names) for names in keys.values()}) != 1:
            failures.add(
                "There should be one join key from each of the stages",
                "Please add join keys for each stage.",
            ).with_config_property("joinKeys")
            return []
    return [JoinKey(stage, names) for stage, names in keys.items()]


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


def _split(text: str, separator: str) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]
