"""The features of a model, made of the columns of a table (mmds ``FeatureGenerator``).

A copy ``_c_x`` of each column replaces nulls: by ``?`` in categories, by -1 in numbers. Categories get an
index ``_i_x``, and all enter the vector ``_features``. As in mmds a number enters the vector twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from localcdap.api import Schema
from localcdap.api.sql_names import quote_column
from localcdap.plugin_lib.spark.columns import get_column

from .model import CATEGORICAL, KEEP, NUMERIC, SKIP, get_type_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FEATURES: Final = "_features"
PREDICTION: Final = "_prediction"
NUMERIC_PREDICTION: Final = "_n__prediction"
_NO_CATEGORY: Final = "?"
_NO_NUMBER: Final = -1.0


class FeatureColumns(msgspec.Struct):
    """The columns that features are made of."""

    names: list[str]
    categorical: list[str]

    @classmethod
    def of(
        cls,
        schema: Schema,
        outcome: str,
        names: Sequence[str] = (),
        categorical: Sequence[str] = (),
    ) -> FeatureColumns:
        """Return those of a schema: all columns but the outcome.

        :param names: the columns that are features; none: all.
        :param categorical: numbers that are categories.
        :raises ValueError: when a column is neither a category nor a number, or there is none.
        """
        wanted = names or schema.field_names
        names = [name for name in schema.field_names if name != outcome and name in wanted]
        if not names:
            raise ValueError("There is no column besides the outcome.")
        types = {field.name: get_type_name(field.schema) for field in schema}
        odd = [name for name in names if types[name] not in (*CATEGORICAL, *NUMERIC)]
        if odd:
            found = ", ".join(f"'{name}' ({types[name]})" for name in odd)
            raise ValueError(
                f"Features are booleans, strings and numbers; there are {found}. Drop them, or convert them."
            )
        return cls(
            names, [name for name in names if types[name] in CATEGORICAL or name in categorical]
        )

    @property
    def vector(self) -> list[str]:
        """The columns of the vector, in order."""
        found: list[str] = []
        for name in self.names:
            found += [f"_i_{name}"] if name in self.categorical else [f"_c_{name}", f"_c_{name}"]
        return found

    @property
    def vector_names(self) -> list[str]:
        """The column that each element of the vector stems from."""
        return [name[3:] for name in self.vector]

    def clean(self, data: DataFrame, extra: Sequence[str]) -> DataFrame:
        """Return the columns, other ones, and the copies."""
        from pyspark.sql import functions as f

        copies = [self._copy(name) for name in self.names]
        return data.select(*[f.col(quote_column(each)) for each in (*self.names, *extra)], *copies)

    def _copy(self, name: str) -> Column:
        from pyspark.sql import functions as f

        if name in self.categorical:
            value = f.coalesce(f.col(quote_column(name)).cast("string"), f.lit(_NO_CATEGORY))
        else:
            # As ``na.fill``, which replaces NaN too.
            value = f.nanvl(
                f.coalesce(f.col(quote_column(name)).cast("double"), f.lit(_NO_NUMBER)),
                f.lit(_NO_NUMBER),
            )
        return value.alias(f"_c_{name}")

    def to_sql(self) -> str:
        """Return what :meth:`clean` does as a statement on ``__THIS__``, for use elsewhere."""
        parts = ["*"]
        for name in self.names:
            quoted = quote_column(name)
            if name in self.categorical:
                value = f"coalesce(cast({quoted} as string), '{_NO_CATEGORY}')"
            else:
                number = f"coalesce(cast({quoted} as double), cast({_NO_NUMBER} as double))"
                value = f"nanvl({number}, cast({_NO_NUMBER} as double))"
            parts.append(f"{value} as {quote_column('_c_' + name)}")
        return f"SELECT {', '.join(parts)} FROM __THIS__"  # noqa: S608 - names are quoted

    def fit(self, cleaned: DataFrame, handle_invalid: str) -> Any:
        """Return the model that makes the vector: a PipelineModel.

        :param handle_invalid: what becomes of records with new categories: ``skip`` or ``keep``.
        """
        from pyspark.ml import Pipeline
        from pyspark.ml.feature import StringIndexer, VectorAssembler

        stages: list[Any] = []
        if self.categorical:
            stages.append(
                StringIndexer(
                    inputCols=[f"_c_{name}" for name in self.categorical],
                    outputCols=[f"_i_{name}" for name in self.categorical],
                    handleInvalid=KEEP if handle_invalid == KEEP else SKIP,
                )
            )
        stages.append(VectorAssembler(inputCols=self.vector, outputCol=FEATURES))
        return Pipeline(stages=stages).fit(cleaned)


def index_outcome(
    outcome: str, label: str, train: DataFrame, test: DataFrame
) -> tuple[Any, DataFrame, DataFrame]:
    """Number the classes, the most frequent first; test records of other classes are left out.

    :param label: the column with the number.
    :returns: the fitted indexer, and both parts with the numbers.
    """
    from pyspark.ml.feature import StringIndexer

    text = f"_c_{outcome}"
    value = get_column(outcome).cast("string")
    train, test = train.withColumn(text, value), test.withColumn(text, value)
    indexer = StringIndexer(inputCol=text, outputCol=label, handleInvalid=SKIP).fit(train)
    return indexer, indexer.transform(train), indexer.transform(test)


def load_pipeline_model(path: str) -> Any:
    """Load a PipelineModel."""
    from pyspark.ml import PipelineModel

    return PipelineModel.load(path)
