"""The numeric fields that trainers and predictors use as features (hydrator-plugins ``SparkUtils``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from localcdap.api import PluginConfig, Schema, StageConfigurer, Type, field
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEATURES: Final = "_features"
_NUMBERS: Final = (Type.INT, Type.LONG, Type.FLOAT, Type.DOUBLE)
_BOTH: Final = (
    "Cannot specify values for both featuresToInclude and featuresToExclude. "
    "Please specify fields for one."
)


class FeatureConfig(PluginConfig, macros=True, rename="camel"):
    """The properties of trainers and predictors that select features, and say where the model is."""

    file_set_name: str = field("The name of the file set with the model.")
    path: str | None = field(
        "The path of the model in the file set; by default the file set itself.", default=None
    )
    feature_fields_to_include: list[str] | None = field(
        "The fields that are features; by default all but those to exclude.",
        default=None,
        form="{input-field},",
    )
    feature_fields_to_exclude: list[str] | None = field(
        "The fields that are left out of the features.", default=None, form="{input-field},"
    )

    @property
    def selects_by_macro(self) -> bool:
        """Whether it is not known yet which fields are features."""
        names = ("featureFieldsToInclude", "featureFieldsToExclude")
        return any(self.contains_macro(name) for name in names)

    def list_features(self, schema: Schema, target: str) -> list[str]:
        """Return the fields that are features, in order, without the label or prediction."""
        if self.feature_fields_to_include:
            names = self.feature_fields_to_include
            return [name for name in names if name != target and schema.field(name) is not None]
        excluded = {target, *(self.feature_fields_to_exclude or [])}
        return [name for name in schema.field_names if name not in excluded]

    def check_features(self, stage: StageConfigurer, schema: Schema, target: str) -> None:
        """Report what is wrong with the features."""
        if self.feature_fields_to_include and self.feature_fields_to_exclude:
            failure = stage.failures.add(_BOTH)
            failure.with_config_property("featureFieldsToInclude")
            failure.with_config_property("featureFieldsToExclude")
            return
        if self.selects_by_macro:
            return
        self._warn_of_unknown(stage, schema)
        names = self.list_features(schema, target)
        if not names:
            stage.failures.add(
                "There is no field that could be a feature.",
                "Connect a stage with fields that are numbers, or exclude fewer fields.",
            )
        for name in names:
            found = schema.field(name)
            assert found is not None
            if found.schema.non_nullable.type not in _NUMBERS or found.schema.logical_type:
                stage.failures.add(
                    "Features must be of type : int, double, float, long but was of type "
                    f"{name_type(found.schema)} for field {name}.",
                    "Exclude the field, or convert it.",
                ).with_input_field(name)

    def _warn_of_unknown(self, stage: StageConfigurer, schema: Schema) -> None:
        for each in ("Include", "Exclude"):
            names = getattr(self, f"feature_fields_to_{each.lower()}") or []
            for name in names:
                if schema.field(name) is None:
                    stage.warnings.add(
                        f"Field '{name}' does not exist in the input schema, and is left out.",
                        f"Use some of: {', '.join(schema.field_names)}.",
                    ).with_config_property(f"featureFieldsTo{each}", element=name)


def name_type(schema: Schema) -> str:
    """Return the name of a type as the original writes it: ``STRING``."""
    return schema.non_nullable.type.value.upper()


def add_features(
    df: DataFrame, names: list[str], categories: Mapping[str, int] | None = None
) -> DataFrame:
    """Add the vector of features; null is 0, as it is absent from the original's sparse vector.

    :param categories: the number of values of features that are categories, whose values are 0, 1, and so on.
    """
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import functions as f

    parts = [f"_feature_{place}" for place in range(len(names))]
    zero = f.lit(0.0)
    columns = [
        f.coalesce(get_column(name).cast("double"), zero).alias(
            part, metadata=_describe(part, (categories or {}).get(name))
        )
        for name, part in zip(names, parts, strict=True)
    ]
    # NaN is a value for the trees, as in the original.
    assembler = VectorAssembler(inputCols=parts, outputCol=FEATURES, handleInvalid="keep")
    assembled: DataFrame = assembler.transform(df.select("*", *columns)).drop(*parts)
    return assembled


def _describe(name: str, values: int | None) -> dict[str, object]:
    """Return the metadata by which Spark knows a category (``NominalAttribute``)."""
    if values is None:
        return {}
    return {"ml_attr": {"type": "nominal", "name": name, "num_vals": values}}
