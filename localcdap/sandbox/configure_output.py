"""Checking what a plugin has set in its stage; user code may have set values of any type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from localcdap.api.dataset.declaration import DatasetDeclaration
from localcdap.api.failures import ArtifactId, Cause, FailureCollector, ValidationFailure
from localcdap.api.schema import Schema
from localcdap.api.stage import StageConfigurer


class ConfigureOutput(NamedTuple):
    """The values of a stage that have the right type."""

    output_schema: Schema | None
    error_schema: Schema | None
    port_schemas: dict[str, Schema]
    pipeline_properties: dict[str, str]
    datasets: list[DatasetDeclaration]
    columns: dict[str, dict[str, str]]


def check_configure_output(stage: StageConfigurer, failures: FailureCollector) -> ConfigureOutput:
    """Return the values that a plugin set; a value of a wrong type is left out and becomes a failure."""
    check = _Check(failures)
    ports = check.mapping("port_schemas", stage.port_schemas)
    properties = check.mapping("pipeline_properties", stage.pipeline_properties)
    return ConfigureOutput(
        check.schema("output_schema", stage.output_schema),
        check.schema("error_schema", stage.error_schema),
        {
            plain(port): schema
            for port, value in ports.items()
            if (schema := check.schema(f"port_schemas[{port!r}]", value)) is not None
        },
        {plain(key): plain(value) for key, value in properties.items()},
        [_to_plain_declaration(each) for each in check.declarations(stage.datasets)],
        {
            plain(table): {
                plain(key): plain(value)
                for key, value in check.mapping(f"columns[{table!r}]", columns).items()
            }
            for table, columns in check.mapping("columns", stage.columns).items()
        },
    )


def plain_failures(failures: Iterable[ValidationFailure]) -> list[ValidationFailure]:
    """Return the failures with all values converted to texts."""
    return [
        ValidationFailure(
            type=plain(failure.type),
            message=plain(failure.message),
            corrective_action=_to_plain_or_none(failure.corrective_action),
            causes=[_to_plain_cause(cause) for cause in failure.causes],
            stage=_to_plain_or_none(failure.stage),
            field=_to_plain_or_none(failure.field),
            suggested_artifact=_to_artifact(failure.suggested_artifact),
        )
        for failure in failures
    ]


def plain(value: object) -> str:
    """Return the value as a text that can be encoded."""
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


class _Check:
    def __init__(self, failures: FailureCollector) -> None:
        self._failures = failures

    def schema(self, name: str, value: Any) -> Schema | None:
        if value is None or isinstance(value, Schema):
            return value
        self._refuse(name, value, "a Schema")
        return None

    def mapping(self, name: str, value: Any) -> Mapping[Any, Any]:
        if isinstance(value, Mapping):
            return value
        self._refuse(name, value, "a dict")
        return {}

    def declarations(self, value: Any) -> list[DatasetDeclaration]:
        if isinstance(value, list) and all(isinstance(e, DatasetDeclaration) for e in value):
            return value
        self._refuse("datasets", value, "a list of datasets")
        return []

    def _refuse(self, name: str, value: Any, expected: str) -> None:
        self._failures.add(
            f"The plugin set stage.{name} to a {type(value).__name__}, which is not {expected}.",
            "Check with the plugin developer to make sure it is implemented correctly.",
        )


def _to_plain_cause(cause: Cause) -> Cause:
    return Cause({plain(key): plain(value) for key, value in cause.attributes.items()})


def _to_plain_declaration(declared: DatasetDeclaration) -> DatasetDeclaration:
    return DatasetDeclaration(
        plain(declared.name),
        plain(declared.type),
        {plain(key): plain(value) for key, value in declared.properties.items()},
        _to_plain_or_none(declared.config_property),
    )


def _to_plain_or_none(value: object) -> str | None:
    return None if value is None else plain(value)


def _to_artifact(value: Any) -> ArtifactId | None:
    return value if isinstance(value, ArtifactId) else None
