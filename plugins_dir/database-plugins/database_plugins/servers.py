"""Where a database is by host and name, on a server of one's own and at Google Cloud SQL.

That is all that tells the plugins that CDAP has for a kind of database from those for any.
"""

from __future__ import annotations

from typing import Any, ClassVar

from localcdap.api import field

from .jdbc import JdbcConfig

_PRIVATE = "private"


def _timeout_field() -> Any:
    return field(
        "Seconds to wait for the connection; without effect here.",
        default=None,
        macro=True,
        name="connectionTimeout",
        group="more",
    )


class ServerConfig(JdbcConfig):
    """A database of a server."""

    _url: ClassVar[str]
    _port: ClassVar[int]

    host: str = field("Name of the server.", default="localhost", macro=True)
    port: int = field("Its port; that of such servers by default.", default=0, macro=True)
    database: str = field("Name of the database.", macro=True)
    timeout: str | None = _timeout_field()

    def get_url(self) -> str:
        return self._url.format(self.host.strip(), self.port or self._port, self.database.strip())


class CloudSqlConfig(JdbcConfig):
    """A database of an instance of Cloud SQL.

    A public one is reached through Google's socket factory, whose jar must be with the driver's.
    """

    _public: ClassVar[str]
    _private: ClassVar[str]
    _port: ClassVar[int]

    connection_name: str = field(
        "The instance: project:region:name of a public one, the address of a private one.",
        macro=True,
        name="connectionName",
    )
    instance_type: str = field(
        "Whether the instance is public or private. A server of yours that stands for it is a private one.",
        default="public",
        choices=("public", _PRIVATE),
        macro=True,
        name="instanceType",
    )
    port: int = field(
        "Port of a private one; that of such servers by default.", default=0, macro=True
    )
    database: str = field("Name of the database.", macro=True)
    timeout: str | None = _timeout_field()

    def get_url(self) -> str:
        name, database = self.connection_name.strip(), self.database.strip()
        if self.instance_type.lower() == _PRIVATE:
            return self._private.format(name, self.port or self._port, database)
        return self._public.format(database, name)
