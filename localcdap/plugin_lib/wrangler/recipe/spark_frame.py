"""The Spark DataFrame to which a recipe is compiled; see :class:`localcdap.api.directive.rows.Frame`.

Columns have physical names (``w0``, ``w1`` …), so that the names in recipes may hold any characters and
differ in case only, and renaming a column costs nothing. Rows that fail stay until the end of the plan, with
the error in the column :data:`ERROR`; if error records are wanted, :data:`INPUT` holds the input record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import NoNativeFormError
from localcdap.api.directive.rows import Columns, Expression, Native
from localcdap.api.schema import Schema
from localcdap.plugin_lib.wrangler.recipe.builder import NAME as PRECONDITION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ERROR: Final = "__error"
"""The column with the row's error, a struct of :data:`ERROR_TYPE`; null for a row without error."""
ERROR_TYPE: Final = "struct<kind:int,code:int,message:string,record:string>"
"""``record`` is the row as it came to the frame or the batches, as JSON; null unless it is kept."""
FAILURE: Final = 1
"""The kind of an error: a directive failed on the row."""
SENT: Final = 2
"""The kind of an error: a directive sent the row to the error port."""
INPUT: Final = "__input"
"""The column with the input record of the row, a struct."""


class SparkFrame:
    """The columns that the directives compiled so far have made.

    :param names: the physical name of each column.
    :param first_free: number of the first physical name that is not used.
    :param keeps_record: whether errors hold the row as it is now.
    """

    def __init__(
        self,
        df: DataFrame,
        columns: Columns,
        names: Mapping[str, str],
        *,
        carried: Sequence[str] = (),
        first_free: int = 0,
        keeps_record: bool = False,
    ) -> None:
        self.columns: Columns = columns
        self.wanted: frozenset[str] | None = None
        self.directive: str = ""
        """The directive that the messages of :meth:`fail_where` name."""
        self._df = df
        self._names = dict(names)
        self._pending: dict[str, Column] = {}
        self._carried = list(carried)
        self._free = first_free
        self._given = dict(self._names) if keeps_record else {}
        """The columns of the row that errors hold."""

    def copy(self) -> SparkFrame:
        """Return a copy that can be changed independently."""
        made = SparkFrame(
            self._df, self.columns.copy(), self._names, carried=self._carried, first_free=self._free
        )
        made._pending = dict(self._pending)
        made._given = self._given
        made.wanted = self.wanted
        return made

    # -- for directives --------------------------------------------------------------------

    def column(self, name: str) -> Column:
        from pyspark.sql import functions as f

        found = self.columns.find(name)
        if found is None:
            raise KeyError(name)
        physical = self._names[found]
        if physical in self._pending:
            self._flush()
        return f.col(physical)

    def evaluate(self, expression: Expression) -> Native:
        from pyspark.sql import functions as f

        self._flush()
        native = expression.native(self.columns.record(), lambda name: f.col(self._names[name]))
        if native is None:
            raise NoNativeFormError(f"Spark has no equal of the expression '{expression.text}'")
        return native

    def put(self, name: str, value: Column, schema: Schema) -> None:
        physical = self._allocate_name()
        self._pending[physical] = value
        found = self.columns.find(name)
        self.columns.put(name, schema)
        self._names[found or name] = physical

    def remove(self, name: str) -> None:
        found = self.columns.find(name)
        if found is not None:
            self.columns.remove(found)
            self._pending.pop(self._names.pop(found), None)

    def rename(self, names: Mapping[str, str]) -> None:
        renamed: dict[str, str] = {}
        for name in self.columns:
            renamed.setdefault(names.get(name, name), self._names[name])
        self.columns.rename(names)
        self._names = renamed

    def keep_where(self, condition: Column) -> None:
        from pyspark.sql import functions as f

        if ERROR in self._carried:
            condition = self._read_error().isNotNull() | f.coalesce(condition, f.lit(False))
        self._df = self._df.where(condition)

    def fail_where(self, condition: Column, message: Column | str) -> None:
        from pyspark.sql import functions as f

        prefix = f.lit(format_failure_prefix(self.directive))
        self._set_error(condition, FAILURE, f.concat(prefix, _to_column(message)), 0)

    def error_where(self, condition: Column, message: Column | str, code: int = 1) -> None:
        self._set_error(condition, SENT, _to_column(message), code)

    # -- for the compiler ------------------------------------------------------------------

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns of :data:`ERROR` and :data:`INPUT` that exist."""
        return tuple(self._carried)

    def fail_without_prefix(self, condition: Column, message: Column | str) -> None:
        """Fail rows with a message that names no directive."""
        self._set_error(condition, FAILURE, _to_column(message), 0)

    def to_dataframe(self) -> DataFrame:
        """Return the DataFrame of the columns in order, under physical names, and the carried columns."""
        self._flush()
        order = [self._names[name] for name in self.columns]
        made: DataFrame = self._df.select(*order, *self._carried)
        return made

    @property
    def physical(self) -> list[str]:
        """The physical names of the columns in their order."""
        return [self._names[name] for name in self.columns]

    @property
    def first_free(self) -> int:
        """Number of the first physical name that was never used."""
        return self._free

    def _set_error(self, condition: Column, kind: int, message: Column, code: int) -> None:
        from pyspark.sql import functions as f

        error = f.when(
            condition,
            f.struct(
                f.lit(kind).alias("kind"),
                f.lit(code).alias("code"),
                message.alias("message"),
                self._build_record().alias("record"),
            ),
        )
        if ERROR in self._carried:
            error = f.coalesce(self._read_error(), error)
        else:
            self._carried.append(ERROR)
        self._pending[ERROR] = error

    def _build_record(self) -> Column:
        """Return the row that an error holds, as JSON; null unless it is kept."""
        from pyspark.sql import functions as f

        if not self._given:
            return f.lit(None).cast("string")
        members = [f.col(physical).alias(name) for name, physical in self._given.items()]
        return f.to_json(f.struct(*members), {"ignoreNullFields": "false"})

    def _read_error(self) -> Column:
        from pyspark.sql import functions as f

        if ERROR in self._pending:
            self._flush()
        return f.col(ERROR)

    def _allocate_name(self) -> str:
        self._free += 1
        return f"w{self._free - 1}"

    def _flush(self) -> None:
        """Make columns of the pending expressions, so that each is computed once however often it is read."""
        if not self._pending:
            return
        names = [*self._names.values(), *self._given.values()]
        kept = [*dict.fromkeys(names), *self._carried]
        selected: list[Any] = [
            self._pending[name].alias(name) if name in self._pending else name for name in kept
        ]
        self._df = self._df.select(*selected)
        self._pending = {}


def format_failure_prefix(directive: str) -> str:
    """Return the beginning of a failure's message (wrangler ``DirectiveExecutionException``).

    It is empty for the precondition, whose failures are of another class, and where no directive fails.
    """
    if directive in ("", PRECONDITION):
        return ""
    return f"Error encountered while executing '{directive}' : "


def _to_column(message: Column | str) -> Column:
    from pyspark.sql import functions as f

    return f.lit(message) if isinstance(message, str) else message
