"""The base class of directives, and what a directive raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from localcdap.api.directive.argument import Argument
from localcdap.api.directive.rows import Columns, Frame, Row, RowContext
from localcdap.api.plugin import PLUGIN_MARK, Plugin


class DirectiveError(Exception):
    """A directive fails on a row; the on-error mode of the stage says what becomes of the record.

    Any other exception means the same; its text is the message.

    :param message: what is wrong with the row, without the name of the directive.
    """


class ErrorRow(Exception):  # noqa: N818 - it is what a directive does, not what went wrong with it
    """Raised to send the record to the error port.

    :param message: the message of the error record.
    :param code: its code.
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class NoNativeFormError(Exception):
    """A directive has no Spark form for these arguments and columns; the text says why, as a clause
    ("the delimiter is not one character").
    """


class Directive(Plugin):
    """Base of all directives. The arguments are class attributes, in the order of the usage.

    Override :meth:`change`, or :meth:`expand` where a row may become none or several; :meth:`propagate`
    unless the columns stay as they are; :meth:`native` where Spark can give exactly the same answers.
    """

    types = ("directive",)
    arguments: ClassVar[tuple[Argument, ...]] = ()
    categories: ClassVar[tuple[str, ...]] = ()
    """What front ends group directives by: ``column``, ``transform``, ``parser`` …"""
    examples: ClassVar[tuple[str, ...]] = ()
    """Complete directives, for front ends."""
    whole_row: ClassVar[bool] = False
    """Whether it reads, renames or drops columns that its arguments do not name."""
    variables: ClassVar[tuple[str, ...]] = ()
    """Transient variables that it sets under fixed names."""

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        inherited = {a.attribute: a for base in reversed(cls.__mro__[1:]) for a in _declared(base)}
        own = {a.attribute: a for a in _declared(cls)}
        cls.arguments = tuple((inherited | own).values())

    def __init__(self, values: Mapping[str, Any]) -> None:
        """:param values: of the arguments, by attribute, typed as :class:`ArgumentKind` says."""
        super().__init__(None)
        for declared in self.arguments:
            given = values.get(declared.attribute, declared.default)
            setattr(self, declared.attribute, given)

    @classmethod
    def directive_name(cls) -> str:
        """The name that recipes use, see :func:`localcdap.api.plugin.plugin`."""
        name: str = vars(cls)[PLUGIN_MARK][1]
        return name

    @classmethod
    def usage(cls) -> str:
        """How the directive is written: ``rename :source :target``."""
        return " ".join([cls.directive_name(), *(declared.usage for declared in cls.arguments)])

    def problem(self) -> str | None:
        """What is wrong with arguments that are each of the right kind; None when nothing is.

        For instance a regular expression that cannot be compiled. Asked once while a recipe is checked.
        """
        return None

    def sets_variables(self) -> Iterable[str]:
        """The transient variables that it sets."""
        return self.variables

    def tables(self) -> Iterable[str]:
        """Names of the structured datasets that it looks rows up in, see :attr:`RowContext.lookups`."""
        return ()

    def propagate(self, columns: Columns) -> None:
        """Change the columns as rows are changed. The default leaves them as they are."""

    def start(self, context: RowContext) -> None:
        """Called once in each task before the first row."""

    def change(self, row: Row, context: RowContext) -> None:
        """Change a row.

        :raises DirectiveError: when the directive fails on it.
        :raises ErrorRow: to send the record to the error port.
        """
        raise NotImplementedError

    def expand(self, row: Row, context: RowContext) -> Iterable[Row]:
        """The rows that a row becomes; it may be changed and be one of them. Raises as :meth:`change`."""
        self.change(row, context)
        return (row,)

    def end(self) -> None:
        """Called once in each task after the last row."""

    def native(self, frame: Frame) -> None:
        """Change a Spark frame as rows are changed, with the same answers for every value of the columns'
        types, nulls included.

        :raises NoNativeFormError: where there is no such form; ``frame`` may be half changed then.
        """
        raise NoNativeFormError("there is no Spark form of it")


def _declared(cls: type) -> list[Argument]:
    return [value for value in vars(cls).values() if isinstance(value, Argument)]
