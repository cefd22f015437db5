"""The keys of the prep area that protect a column: directives that mask it, tags, and expectations."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from localcdap.api.metadata import MetadataEntity
from localcdap.host.cdap import Cdap
from localcdap.tui.screens.prep.menu import is_plain_name
from localcdap.tui.screens.prep.panel import format_meaning
from localcdap.tui.screens.prep.recipe_screen import RecipeScreen
from localcdap.tui.studio import Choice
from localcdap.workspace_views import ColumnMeaning

_TAG = ""
"""Stands in the choices of :meth:`ProtectionKeys.action_protect` for the tags."""


class ProtectionKeys(RecipeScreen):
    """Protects the column under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "protect", "protect the column", id="prep.protect", show=False),
    ]

    @work(group="prep-dialog", exclusive=True)
    async def action_protect(self) -> None:
        """Mask or hash what looks like data about persons, or tag the field."""
        column = self.column
        meaning = None if column is None or column.profile is None else column.profile.meaning
        if column is None or meaning is None:
            self.studio.explain_no_effect("the values look like nothing to protect", "protect")
            return
        if not is_plain_name(column.name):
            self.studio.explain_no_effect(f"directives cannot name '{column.name}'", "protect")
            return
        choices = []
        for hint in meaning.hints:
            directive = hint.directive.replace("{c}", column.name)
            choices.append(Choice(hint.label, directive, detail=directive))
        choices.append(self._create_tag_choice(meaning))
        title = f"{column.name} {format_meaning(meaning)}"
        chosen = await self.studio.choose(choices, title=title, on_highlight=self.try_directive)
        if chosen is None:
            self.read()
        elif chosen == _TAG:
            self._add_tags(column.name, meaning)
        else:
            self.take_directive(chosen)

    def _create_tag_choice(self, meaning: ColumnMeaning) -> Choice[str]:
        reason = None if self._table else "only fields of tables have tags"
        return Choice(f"Tag the field: {', '.join(meaning.tags)}", _TAG, reason=reason)

    @property
    def _table(self) -> str:
        """The table that is open; an empty text for other data."""
        return "" if self.source is None else self.source.table

    def _add_tags(self, column: str, meaning: ColumnMeaning) -> None:
        namespace, table = self.studio.namespace, self._table
        field = MetadataEntity.of_dataset(table, namespace).append("field", column)
        tags = meaning.tags

        def add(cdap: Cdap) -> None:
            cdap.metadata.add(field, tags=tags)

        self.call(
            add,
            on_result=lambda _: self.studio.show_notice(
                f"{table}.{column} is tagged {', '.join(tags)}"
            ),
            group="prep-tags",
        )
        self.read()
