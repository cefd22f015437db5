"""The directive that maps columns to the fields of data models."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from localcdap.api.directive import (
    Columns,
    Directive,
    DirectiveError,
    Frame,
    NoNativeFormError,
    Row,
    RowContext,
    argument,
    plugin,
)
from localcdap.plugin_lib.wrangler.catalogs.data_models import DataModelError, find_type_name
from localcdap.plugin_lib.wrangler.directives.columns import Rename
from localcdap.plugin_lib.wrangler.directives.types import SetType
from localcdap.plugin_lib.wrangler.values.conversion import KINDS


@plugin(
    name="data-model-map-column",
    description="Gives a column the type and the name of a field of a data model.",
)
class DataModelMapColumn(Directive):
    categories = ("data-quality",)
    examples = (
        "data-model-map-column 'https://models.example' 'org.OMOP' 6 'PERSON' 'birth_year' :year",
    )
    data_model_url: str = argument.text(
        "The URL or the folder of manifest.json and the models.", name="data-model-url"
    )
    data_model: str = argument.text("The full name of the data model.", name="data-model")
    revision: int = argument.number("Its revision.", name="revision")
    model: str = argument.text("The model in the data model.")
    target_field: str = argument.text("The field of the model.", name="target-field")
    column: str = argument.column("The column to map.")

    @cached_property
    def _type(self) -> str:
        """The type of the field.

        :raises DataModelError: for an unknown field, or a type that columns cannot have.
        """
        found = find_type_name(
            self.data_model_url, self.data_model, int(self.revision), self.model, self.target_field
        )
        if found not in KINDS:
            raise DataModelError(
                f"the field '{self.target_field}' is a {found}, which no column can be"
            )
        return found

    @cached_property
    def _steps(self) -> tuple[Directive, ...]:
        values: dict[str, Any] = {"column": self.column, "type": self._type}
        return SetType(values), Rename({"source": self.column, "target": self.target_field})

    def problem(self) -> str | None:
        try:
            _ = self._type
        except DataModelError as error:
            return str(error)
        return None

    def propagate(self, columns: Columns) -> None:
        for step in self._steps:
            step.propagate(columns)

    def change(self, row: Row, context: RowContext) -> None:
        try:
            steps = self._steps
        except DataModelError as error:
            raise DirectiveError(str(error)) from None
        for step in steps:
            step.change(row, context)

    def native(self, frame: Frame) -> None:
        try:
            steps = self._steps
        except DataModelError as error:
            raise NoNativeFormError(str(error)) from None
        for step in steps:
            step.native(frame)
