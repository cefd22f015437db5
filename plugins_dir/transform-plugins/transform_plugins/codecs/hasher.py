"""The Hasher transform: replaces strings by their digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import (
    LineageRecorder,
    PluginConfig,
    Schema,
    SparkContext,
    StageConfigurer,
    Transform,
    Type,
    field,
    plugin,
)
from localcdap.plugin_lib.spark.columns import get_column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SHA2: Final = {"sha256": 256, "sha384": 384, "sha512": 512}
_KNOWN: Final = ("md5", "sha1", *_SHA2)


@plugin(
    name="Hasher",
    description="Replaces the values of string fields by their digests: MD5, SHA1, SHA256, SHA384 or SHA512.",
)
class Hasher(Transform):
    """Digests are hexadecimal strings of the value in UTF-8; null stays null.

    Unlike in CDAP, a field that is not in the input is a failure, because a misspelt field would not be
    hashed. MD2 is not supported: it is broken, and OpenSSL has removed it.
    """

    class Config(PluginConfig):
        hash: str = field("Digest: MD5, SHA1, SHA256, SHA384 or SHA512, in any case.")
        fields: list[str] = field(
            "Fields to hash, comma-separated; they must be strings.", form="{input-field}"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        if self.config.hash and self.config.hash.lower() not in _KNOWN:
            stage.failures.add(
                f"Invalid hasher '{self.config.hash}' specified.",
                f"Allowed hashers are {', '.join(_KNOWN)}.",
            ).with_config_property("hash")
        if stage.input_schema is not None:
            self._check_fields(stage, stage.input_schema)
        stage.output_schema = stage.input_schema

    def _check_fields(self, stage: StageConfigurer, schema: Schema) -> None:
        for name in self.config.fields or ():
            given = schema.field(name)
            if given is None:
                stage.failures.add(
                    f"Field '{name}' must be present in the input schema."
                ).with_config_property("fields", element=name)
            elif given.schema.non_nullable.type is not Type.STRING:
                stage.failures.add(
                    f"Field '{name}' is of unsupported type '{given.schema.display_name}'.",
                    "Ensure all fields to hash are strings.",
                ).with_config_property("fields", element=name).with_input_field(name)

    def record_lineage(self, lineage: LineageRecorder) -> None:
        for name in dict.fromkeys(self.config.fields):
            lineage.derive(name, [name], f"Hash {name}", masking=True)

    def apply(self, df: DataFrame, context: SparkContext) -> DataFrame:
        hashed = set(self.config.fields)
        return df.select(
            *(
                self._build_digest(get_column(name)).alias(name)
                if name in hashed
                else get_column(name)
                for name in context.input_schema.field_names
            )
        )

    def _build_digest(self, value: Column) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        chosen = self.config.hash.lower()
        if chosen in _SHA2:
            return F.sha2(value, _SHA2[chosen])
        return F.md5(value) if chosen == "md5" else F.sha1(value)
