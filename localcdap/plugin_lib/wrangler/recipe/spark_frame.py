"""A Spark DataFrame while a recipe is compiled to it; see :class:`localcdap.api.directive.rows.Frame`.

Columns have physical names of their own (``w0``, ``w1`` …), so that those of recipes may hold anything and
differ in case only, and a renaming costs nothing. Rows that fail stay until the end of the plan, with what
failed in the column :data:`ERROR`; where error records are wanted, :data:`INPUT` holds the input record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.directive import NoNativeFormError
from localcdap.api.directive.rows import Columns, Expression, Native
from localcdap.api.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ERROR: Final = "__error"
"""Column: what failed for the row, a struct of :data:`ERROR_TYPE`; null while nothing did."""
ERROR_TYPE: Final = "struct<kind:int,code:int,message:string>"
FAILURE: Final = 1
"""Kind of an error: a directive failed on the row."""
SENT: Final = 2
"""Kind of an error: a directive sent the row to the error port."""
INPUT: Final = "__input"
"""Column: the record that the row was made of, a struct."""


class SparkFrame:
    """The columns that a recipe has made so far, of a DataFrame.

    :param names: physical names by column.
    """

    def __init__(
        self,
        df: DataFrame,
        columns: Columns,
        names: Mapping[str, str],
        *,
        carried: Sequence[str] = (),
        first_free: int = 0,
    ) -> None:
        self.columns: Columns = columns
        self.wanted: frozenset[str] | None = None
        self.directive: str = ""
        """Whose errors :meth:`fail_where` tells."""
        self._df = df
        self._names = dict(names)
        self._pending: dict[str, Column] = {}
        self._carried = list(carried)
        self._free = first_free

    def copy(self) -> SparkFrame:
        """The same frame, to be changed on its own."""
        made = SparkFrame(
            self._df,
            self.columns.copy(),
            self._names,
            carried=self._carried,
            first_free=self._free,
        )
        made._pending = dict(self._pending)
        made.wanted = self.wanted
        return made

    # -- what directives use ----------------------------------------------------------------

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
        physical = self._new()
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
            condition = self._error().isNotNull() | f.coalesce(condition, f.lit(False))
        self._df = self._df.where(condition)

    def fail_where(self, condition: Column, message: Column | str) -> None:
        from pyspark.sql import functions as f

        prefix = f.lit(failure_prefix(self.directive))
        self._tell(condition, FAILURE, f.concat(prefix, _text(message)), 0)

    def error_where(self, condition: Column, message: Column | str, code: int = 1) -> None:
        self._tell(condition, SENT, _text(message), code)

    # -- what the compiler uses -------------------------------------------------------------

    @property
    def carried(self) -> tuple[str, ...]:
        """Which of :data:`ERROR` and :data:`INPUT` there are."""
        return tuple(self._carried)

    def tell_as_it_is(self, condition: Column, message: Column | str) -> None:
        """Tell rows that fail, with a message that names no directive."""
        self._tell(condition, FAILURE, _text(message), 0)

    def settled(self) -> DataFrame:
        """The DataFrame of the columns in their order, under physical names, with what is carried."""
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

    def _tell(self, condition: Column, kind: int, message: Column, code: int) -> None:
        from pyspark.sql import functions as f

        told = f.when(
            condition,
            f.struct(
                f.lit(kind).alias("kind"), f.lit(code).alias("code"), message.alias("message")
            ),
        )
        if ERROR in self._carried:
            told = f.coalesce(self._error(), told)
        else:
            self._carried.append(ERROR)
        self._pending[ERROR] = told

    def _error(self) -> Column:
        from pyspark.sql import functions as f

        if ERROR in self._pending:
            self._flush()
        return f.col(ERROR)

    def _new(self) -> str:
        self._free += 1
        return f"w{self._free - 1}"

    def _flush(self) -> None:
        """Make columns of what is pending, so that it is computed once however often it is read."""
        if not self._pending:
            return
        kept = [*dict.fromkeys(self._names.values()), *self._carried]
        selected: list[Any] = [
            self._pending[name].alias(name) if name in self._pending else name for name in kept
        ]
        self._df = self._df.select(*selected)
        self._pending = {}


def failure_prefix(directive: str) -> str:
    """What the message of a failure begins with (wrangler ``DirectiveExecutionException``)."""
    return f"Error encountered while executing '{directive}' : "


def _text(message: Column | str) -> Column:
    from pyspark.sql import functions as f

    return f.lit(message) if isinstance(message, str) else message
