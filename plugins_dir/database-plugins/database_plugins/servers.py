"""Properties of databases by host and database name, on a server and at Google Cloud SQL.

They are the only difference between the plugins for one kind of database and those for any database.
"""

from __future__ import annotations

from typing import Any, ClassVar

from localcdap.api import field

from . import additions
from .jdbc import JdbcConfig

_PRIVATE = "private"


def timeout_field() -> Any:
    """Return the property ``connectionTimeout``."""
    return field(
        "Seconds to wait for the connection; without effect.",
        default=None,
        macro=True,
        name="connectionTimeout",
        group="more",
    )


class ServerConfig(JdbcConfig, macros=True, additions=additions.SERVER):
    """A database on a server."""

    _url: ClassVar[str]
    _port: ClassVar[int]

    host: str = field("Host name of the server.", default="localhost")
    port: int = field("Port of the server, by default the usual one of the database.", default=0)
    database: str = field("Name of the database.")

    def get_url(self) -> str:
        return self._url.format(self.host.strip(), self.port or self._port, self.database.strip())


class CloudSqlConfig(JdbcConfig, macros=True, rename="camel", additions=additions.SERVER):
    """A database of a Cloud SQL instance.

    Google's socket factory connects to a public instance; its jar must be in the folder of the driver.
    """

    _public: ClassVar[str]
    _private: ClassVar[str]
    _port: ClassVar[int]

    connection_name: str = field(
        "Instance: project:region:name of a public one, the address of a private one.",
    )
    instance_type: str = field(
        "Whether the instance is public or private. A server of yours that replaces it is private.",
        default="public",
        choices=("public", _PRIVATE),
    )
    port: int = field(
        "Port of a private instance, by default the usual one of the database.", default=0
    )
    database: str = field("Name of the database.")
    timeout: str | None = timeout_field()

    def get_url(self) -> str:
        name, database = self.connection_name.strip(), self.database.strip()
        if self.instance_type.lower() == _PRIVATE:
            return self._private.format(name, self.port or self._port, database)
        return self._public.format(database, name)
