"""The base class of directives, and what a directive raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from localcdap.api.directive.argument import Argument, ArgumentKind
from localcdap.api.directive.rows import Columns, Frame, Row, RowContext
from localcdap.api.plugin import PLUGIN_MARK, Plugin


class DirectiveError(Exception):
    """A directive fails on a row; the on-error mode of the stage decides about the record.

    Any other exception has the same effect; its text is the message.

    :param message: what is wrong with the row, without the name of the directive.
    """


class ErrorRow(Exception):  # noqa: N818 - a signal, not a failure of the directive
    """Raised to send the record to the error port.

    :param message: the message of the error record.
    :param code: the code of the error record.
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class NoNativeFormError(Exception):
    """A directive has no Spark form for these arguments and columns.

    The text is a clause that says why, such as "the delimiter is not one character".
    """


class Directive(Plugin):
    """Base class of all directives. The arguments are class attributes, in the order of the usage.

    Override :meth:`change`, or :meth:`expand` when a row may become none or several rows; :meth:`propagate`
    unless the columns stay the same; :meth:`native` when Spark can give exactly the same results.
    """

    types = ("directive",)
    arguments: ClassVar[tuple[Argument, ...]] = ()
    categories: ClassVar[tuple[str, ...]] = ()
    """The groups of front ends that show the directive: ``column``, ``transform``, ``parser`` …"""
    examples: ClassVar[tuple[str, ...]] = ()
    """Complete directives, for front ends."""
    whole_row: ClassVar[bool] = False
    """Whether the directive reads, renames or drops columns that its arguments do not name."""
    makes: ClassVar[tuple[str, ...]] = ()
    """The attributes of arguments that name columns which the directive makes, or overwrites without reading
    them."""
    overwrites: ClassVar[bool] = True
    """Whether the directive replaces every value of columns that it makes and that are there already, for
    lineage."""
    keeps_values: ClassVar[bool] = False
    """Whether the columns that the directive reads keep their values, for lineage; so do those of a directive
    that declares what it :attr:`makes`."""
    drops_rows: ClassVar[bool] = False
    """Whether the directive sends rows to the error port, for lineage. What overrides :meth:`expand` need not
    say that it drops rows."""
    copies: ClassVar[bool] = False
    """Whether the columns that the directive makes get the values of the column that it reads, for
    lineage."""
    masks: ClassVar[bool] = False
    """Whether the original values cannot be seen any more in what the directive makes, for lineage."""
    variables: ClassVar[tuple[str, ...]] = ()
    """Transient variables that the directive sets under fixed names."""

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        inherited = {
            a.attribute: a for base in reversed(cls.__mro__[1:]) for a in _list_arguments(base)
        }
        own = {a.attribute: a for a in _list_arguments(cls)}
        cls.arguments = tuple((inherited | own).values())

    def __init__(self, values: Mapping[str, Any]) -> None:
        """Set the arguments.

        :param values: by attribute, with the types that :class:`~localcdap.api.directive.ArgumentKind` says.
        """
        super().__init__(None)
        for declared in self.arguments:
            given = values.get(declared.attribute, declared.default)
            setattr(self, declared.attribute, given)

    @classmethod
    def directive_name(cls) -> str:
        """Return the name that recipes use, see :func:`localcdap.api.plugin.plugin`."""
        name: str = vars(cls)[PLUGIN_MARK][1]
        return name

    @classmethod
    def usage(cls) -> str:
        """Return the usage: ``rename :source :target``."""
        return " ".join([cls.directive_name(), *(declared.usage for declared in cls.arguments)])

    def problem(self) -> str | None:
        """Return what is wrong with arguments that are each of the right kind; None when nothing is.

        For instance a regular expression that cannot be compiled. Called once when a recipe is checked.
        """
        return None

    def sets_variables(self) -> Iterable[str]:
        """Return the names of the transient variables that the directive sets."""
        return self.variables

    def reads_columns(self) -> Iterable[str]:
        """Return the columns without which the directive has no effect, or fails.

        Where none of the rows has such a column, validation warns, unless :meth:`propagate` has reported the
        column or makes it. The default returns all columns that the arguments name, without those of
        :attr:`makes`.
        """
        for declared in self.arguments:
            if declared.attribute in self.makes:
                continue
            value = getattr(self, declared.attribute)
            if declared.kind is ArgumentKind.COLUMN and value is not None:
                yield value
            elif declared.kind is ArgumentKind.COLUMNS:
                yield from value or ()

    def tables(self) -> Iterable[str]:
        """Return the names of the tables for lookups, see :attr:`RowContext.lookups`."""
        return ()

    def list_looked_up(self, column: str) -> Iterable[str] | None:
        """Return the columns of its tables that a column which the directive makes comes from; None: all."""
        return None

    def propagate(self, columns: Columns) -> None:
        """Change the columns as :meth:`change` changes rows. The default leaves them unchanged."""

    def start(self, context: RowContext) -> None:
        """Prepare for rows; called once in each task before the first row."""

    def change(self, row: Row, context: RowContext) -> None:
        """Change a row.

        :raises DirectiveError: when the directive fails on the row.
        :raises ErrorRow: to send the record to the error port.
        """
        raise NotImplementedError

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        """Return the rows that replace a row, which may be changed and returned. Raises as :meth:`change`."""
        self.change(row, context)
        return (row,)

    def end(self) -> None:
        """Release resources; called once in each task after the last row."""

    def native(self, frame: Frame) -> None:
        """Change a Spark frame as :meth:`change` changes rows, with equal results for all values and nulls.

        :raises NoNativeFormError: when there is no such form; ``frame`` may then be partly changed.
        """
        raise NoNativeFormError("there is no Spark form of it")


def _list_arguments(cls: type) -> list[Argument]:
    return [value for value in vars(cls).values() if isinstance(value, Argument)]
