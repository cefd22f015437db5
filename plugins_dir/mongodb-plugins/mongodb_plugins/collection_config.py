"""The properties of both plugins, and the tables that stand for collections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from localcdap.api import LogicalType, PluginConfig, Schema, StageConfigurer, Type, field
from localcdap.api.rules import check_reference_name

ID: Final = "_id"
WITHOUT_EFFECT: Final = "MongoDB, without effect here"
_NAME: Final = re.compile(r"[\w$.-]+")
_CONNECTION: Final = "connectionString"
_CONNECTION_STRING: Final = re.compile(
    r"mongodb://(?:[^@/]*@)?(?P<host>[^/]+)/(?P<database>[^./?]+)\.(?P<collection>[^?]+)(?:\?.*)?"
)
_REQUIRED: Final = {
    "host": "Host must be specified",
    "database": "Database name must be specified",
    "collection": "Collection name must be specified",
}


class CollectionConfig(PluginConfig, macros=True, rename="camel"):
    """Properties and failures as CDAP's (mongodb-plugins, ``io/cdap/plugin/MongoDBConfig.java``)."""

    reference_name: str = field(
        "Name of this stage in lineage and metadata: letters, digits, '_', '-', '.', '$'.",
        macro=False,
    )
    host: str = field("Host of MongoDB. No server is asked.", default="", group=WITHOUT_EFFECT)
    port: int = field("Port of MongoDB.", default=27017, group=WITHOUT_EFFECT)
    database: str = field("Name of the database.", default="")
    collection: str = field(
        "Name of the collection. Here it is the key-value table 'mongodb.DATABASE.COLLECTION' of the "
        "namespace, whose values are the documents in JSON.",
        default="",
    )
    connection_string: str | None = field(
        "Connection string of the plugin of earlier versions, mongodb://host:27017/database.collection. It "
        "names what 'host', 'database' and 'collection' do not.",
        default=None,
        group="more",
    )
    user: str | None = field("User name.", default=None, group=WITHOUT_EFFECT)
    password: str | None = field(
        "Password of the user. It is not used here.",
        default=None,
        secret=True,
        group=WITHOUT_EFFECT,
    )
    connection_arguments: str | None = field(
        "Options of the connection, as ssl=true.", default=None, group=WITHOUT_EFFECT
    )

    def __init__(
        self,
        values: Mapping[str, Any],
        macros: Iterable[str] = (),
        texts: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(values, macros, texts)
        written = _CONNECTION_STRING.fullmatch((self.connection_string or "").strip())
        for name, value in written.groupdict().items() if written is not None else ():
            if not getattr(self, name):
                setattr(self, name, value)

    def find_table_name(self) -> str:
        """Return the name of the collection's table."""
        return f"mongodb.{self.database.strip()}.{self.collection.strip()}"

    @property
    def has_open_name(self) -> bool:
        """Whether the name of the table is not known yet."""
        return any(map(self.contains_macro, ("database", "collection", _CONNECTION)))

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        check_reference_name(stage, self.reference_name)
        is_open = self.contains_macro(_CONNECTION)
        text = (self.connection_string or "").strip()
        if text and not is_open and _CONNECTION_STRING.fullmatch(text) is None:
            stage.failures.add(
                f"'{text}' does not name a collection of MongoDB.",
                "Write mongodb://host:27017/database.collection.",
            ).with_config_property(_CONNECTION)
            return
        for name, message in _REQUIRED.items():
            value = getattr(self, name)
            if self.contains_macro(name) or is_open:
                continue
            if not value:
                stage.failures.add(message).with_config_property(name)
            elif name != "host" and not _NAME.fullmatch(value.strip()):
                stage.failures.add(
                    f"The {name} '{value}' cannot be part of the name of a table here.",
                    "Use letters, digits, '_', '-', '.' and '$'.",
                ).with_config_property(name)
        if not self.contains_macro("port") and self.port < 1:
            stage.failures.add("Port number must be greater than 0").with_config_property("port")


def find_unsupported(
    schema: Schema, types: frozenset[Type | LogicalType], name: str = ""
) -> str | None:
    """Return why a type cannot be part of documents; None if all can.

    :param types: the simple and logical types that can.
    :param name: the name of the field, with those of the records around it.
    """
    inner = schema.non_nullable
    if inner.type is Type.RECORD and inner.fields:
        found = (find_unsupported(e.schema, types, f"{name}.{e.name}".strip(".")) for e in inner)
        return next(filter(None, found), None)
    if inner.type is Type.ARRAY and inner.items is not None:
        return find_unsupported(inner.items, types, name)
    if inner.type is Type.MAP and inner.keys is not None and inner.values is not None:
        if inner.keys != Schema.STRING:
            return (
                "Map keys must be a non-nullable string. Please change field "
                f"'{name}' to be a non-nullable string."
            )
        return find_unsupported(inner.values, types, name)
    if (inner.logical_type or inner.type) in types:
        return None
    known = ", ".join(sorted(each.value for each in types))
    return (
        f"Field '{name}' is of unsupported type '{inner.display_name}'. Supported types are: "
        f"{known}, array, map, record."
    )
