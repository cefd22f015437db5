"""The field lineage of a recipe: which input fields each output field comes from.

It follows the columns directive by directive, as validation does. A column that a directive renames or leaves
alone keeps what it came from; one that it changes or makes comes from the columns that the directive reads.
The operations are those of wrangler ``LineageOperations``, one for each directive.

Columns that remember what a directive does to them.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeAlias

from msgspec.structs import replace

from localcdap.api.directive import Directive
from localcdap.api.directive.argument import ArgumentKind
from localcdap.api.directive.rows import Columns
from localcdap.api.lineage import (
    EdgeKind,
    EdgeType,
    FieldEdge,
    FieldTransformOperation,
    LineageRecorder,
    build_lookup_edges,
)
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.directives.columns import Drop, Keep, Rename, RenameDirective
from localcdap.plugin_lib.wrangler.recipe.builder import RecipeStep
from localcdap.plugin_lib.wrangler.recipe.propagation import list_expression_columns


class TracedColumns(Columns):
    """A copy of columns that remembers under which names they were before, for one directive."""

    def __init__(self, columns: Columns) -> None:
        super().__init__(columns.items(), find_table=columns.find_table)
        self._prefixes = set(columns._prefixes)
        self._former: dict[str, str | None] = {name: name for name in columns}

    @property
    def former_names(self) -> set[str]:
        """The former names of the columns that are still there."""
        return {name for name in self._former.values() if name is not None}

    def get_former_name(self, name: str) -> str | None:
        """Return the former name of a column; None for one that the directive has made or changed."""
        return self._former.get(name)

    def list_renamed(self) -> list[str]:
        """Return the former names of columns that have other names now."""
        return [old for name, old in self._former.items() if old is not None and old != name]

    def has_opened(self, before: Columns) -> bool:
        """Return whether rows may have more columns than are known that they could not have before."""
        return bool(self._prefixes - before._prefixes)

    def add(self, name: str, schema: Schema | None) -> None:
        """See :meth:`Columns.add`."""
        self._former.setdefault(name, None)
        super().add(name, schema)

    def put(self, name: str, schema: Schema | None) -> None:
        """See :meth:`Columns.put`."""
        self._former[self.find(name) or name] = None
        super().put(name, schema)

    def remove(self, name: str) -> None:
        """See :meth:`Columns.remove`."""
        found = self.find(name)
        if found is not None:
            del self._former[found]
        super().remove(name)

    def rename(self, names: Mapping[str, str]) -> None:
        """See :meth:`Columns.rename`."""
        renamed: dict[str, str | None] = {}
        for name, old in self._former.items():
            renamed.setdefault(names.get(name, name), old)
        self._former = renamed
        super().rename(names)

    def replace(self, given: Iterable[tuple[str, Schema | None]]) -> None:
        """See :meth:`Columns.replace`."""
        columns = list(given)
        self._former = {name: None for name, _ in columns}
        super().replace(columns)


Origins: TypeAlias = frozenset[FieldEdge]
"""The input fields that a column comes from: edges without their target."""

_NONE: Final[Origins] = frozenset()
_CANNOT_FAIL: Final = (Rename, Drop, Keep, RenameDirective)


class RecipeLineage:
    """Follows the columns of a recipe's rows.

    :param recorder: takes the operations and edges.
    :param columns: the columns before the first directive.
    :param origins: the input fields of each of these columns.
    :param drops_failing: whether a row for which a directive fails is dropped, or sent to the error port.
    """

    def __init__(
        self,
        recorder: LineageRecorder,
        columns: Columns,
        origins: Mapping[str, Collection[str]],
        *,
        drops_failing: bool,
    ) -> None:
        self._recorder: Final = recorder
        self._columns = columns
        self._drops_failing: Final = drops_failing
        self._origins: dict[str, Origins] = {
            name: frozenset(FieldEdge(field, kind=EdgeKind.IDENTITY) for field in fields)
            for name, fields in origins.items()
        }
        self._unknown: Origins = _NONE
        """What the columns come from that only the data determine."""
        self._variables: dict[str, Origins] = {}
        self._used: set[str] = set()
        """The columns that operations were recorded for."""
        self._is_assumed = False

    def follow(self, steps: Iterable[RecipeStep]) -> None:
        """Follow the columns through directives."""
        for step in steps:
            if step.directive is None:
                self._assume(step)
            else:
                self._apply(step, copy.copy(step.directive))

    def finish(self, declared: Schema) -> None:
        """Record the edges of the output fields, which are found among the columns without regard to case."""
        made: list[FieldEdge] = []
        for field in declared:
            found = self._columns.find(field.name)
            origins = self._find(field.name)
            schema = None if found is None else self._columns.schema(found)
            if found is None or schema is None or schema.non_nullable != field.schema.non_nullable:
                origins = _extend(origins, EdgeKind.TRANSFORMATION)
                self._influence(origins if self._drops_failing else ())
            made += sorted((replace(each, field=field.name) for each in origins), key=repr)
        self._recorder.add_edges(made)
        self._recorder.generate(*declared.field_names)
        for name in self._recorder.input_fields:
            if name not in self._used and declared.field(name) is not None:
                self._record([name], [name], f"Mapping column '{name}' to column '{name}'")

    def _apply(self, step: RecipeStep, directive: Directive) -> None:
        before, columns = self._columns, TracedColumns(self._columns)
        directive.propagate(columns)
        reads = self._list_read(directive)
        read = _NONE.union(*(self._find(name) for name in reads), self._read_unknown(directive))
        made = _extend(read, EdgeKind.TRANSFORMATION, directive.masks)
        if directive.copies:
            made = read
        origins, outputs = self._derive(directive, columns, reads, made)
        if isinstance(directive, Keep):
            self._unknown = _NONE  # the columns that it keeps are known now
        elif columns.has_opened(before):
            self._unknown |= made
        for variable in directive.sets_variables():
            self._variables[variable] = self._variables.get(variable, _NONE) | made
        if self._may_drop(directive):
            self._influence(read)
        gone = [name for name in before if name not in columns.former_names]
        self._columns, self._origins = columns, origins
        self._record(sorted({*reads, *columns.list_renamed()}) or gone, outputs, step.call.source)

    def _derive(
        self, directive: Directive, columns: TracedColumns, reads: Collection[str], made: Origins
    ) -> tuple[dict[str, Origins], list[str]]:
        """Return what each column comes from after a directive, and the columns that it changed or renamed.

        :param made: what the columns that it makes come from.
        """
        changed = {name.lower() for name in _list_changed(directive)}
        origins: dict[str, Origins] = {}
        outputs: list[str] = []
        for name in columns:
            old = columns.get_former_name(name)
            if old is None and directive.keeps_values and name in reads:
                origins[name] = self._find(name)  # known from here on
                continue
            is_changed = old is None or (old == name and name.lower() in changed)
            origins[name] = made | self._look_up(directive, name) if is_changed else _NONE
            is_left = not is_changed or bool(directive.makes)  # what it makes may be there already
            if old is not None and is_left:
                origins[name] |= self._origins.get(old, _NONE)
            elif name.lower() in changed and not directive.overwrites:
                origins[name] |= _extend(self._find(name), EdgeKind.TRANSFORMATION)
            if is_changed or old != name:
                outputs.append(name)
        return origins, outputs

    def _look_up(self, directive: Directive, column: str) -> Origins:
        """Return the columns of tables that a column which a directive makes comes from."""
        shapes = {table: self._columns.find_table(table) for table in directive.tables()}
        return frozenset(
            edge
            for table, shape in shapes.items()
            if shape is not None
            for edge in build_lookup_edges(None, table, shape, directive.list_looked_up(column))
        )

    def _list_read(self, directive: Directive) -> list[str]:
        """Return the known columns that a directive reads, and the variables."""
        names = list_expression_columns(directive)
        if directive.whole_row or names is None:
            return [*self._columns, *self._variables]
        return list(dict.fromkeys([*directive.reads_columns(), *names]))

    def _read_unknown(self, directive: Directive) -> Origins:
        reads_all = directive.whole_row or list_expression_columns(directive) is None
        return self._unknown if reads_all else _NONE

    def _find(self, name: str) -> Origins:
        """Return what a column or a variable comes from."""
        found = self._columns.find(name)
        column = _NONE if found is None else self._origins.get(found, _NONE)
        if found is None and not self._columns.is_missing(name):
            column = self._unknown
        return column | self._variables.get(name, _NONE)

    def _may_drop(self, directive: Directive) -> bool:
        if directive.drops_rows or type(directive).expand is not Directive.expand:
            return True
        return self._drops_failing and not isinstance(directive, _CANNOT_FAIL)

    def _influence(self, origins: Iterable[FieldEdge]) -> None:
        self._recorder.add_edges(sorted(_extend(frozenset(origins), EdgeKind.FILTER), key=repr))

    def _assume(self, step: RecipeStep) -> None:
        """Follow a directive that is known at run time only: every column may come from every other."""
        every = _NONE.union(*self._origins.values(), self._unknown, *self._variables.values())
        every = frozenset(
            replace(each, assumed=True) for each in _extend(every, EdgeKind.TRANSFORMATION)
        )
        self._columns = Columns(open=True, find_table=self._columns.find_table)
        self._origins, self._unknown = {}, every
        self._influence(every)
        self._record(self._recorder.input_fields, self._recorder.outputs, step.call.source)

    def _record(self, inputs: list[str], outputs: list[str], description: str) -> None:
        if inputs:
            number = len(self._recorder.operations)
            self._used.update(inputs)
            self._recorder.record(
                FieldTransformOperation(f"operation_{number}", description, inputs, outputs)
            )


def _list_changed(directive: Directive) -> Iterable[str]:
    """Return the columns that a directive's arguments name and whose values it changes."""
    if directive.makes:
        for argument in directive.arguments:
            if argument.attribute in directive.makes:
                value = getattr(directive, argument.attribute)
                yield from [value] if argument.kind is ArgumentKind.COLUMN else value or ()
    elif not directive.keeps_values:
        yield from directive.reads_columns()


def _extend(origins: Origins, kind: EdgeKind, masks: bool = False) -> Origins:
    """Return what a value comes from that is computed from, or decided by, a column with these origins."""
    return frozenset(
        replace(
            each,
            kind=kind if each.kind.type is EdgeType.DIRECT else each.kind,
            masking=each.masking or masks,
        )
        for each in origins
    )
