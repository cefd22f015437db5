"""Connection arguments of JDBC drivers: those of the user, and defaults that Spark needs.

Spark Connect's reader makes the names of its options lower-case, so that drivers would not know
sessionVariables or connectTimeout. Arguments are therefore added to the connection string if its syntax
allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

_SYNTAX: Final = {
    "mysql": "?&",
    "mariadb": "?&",
    "postgresql": "?&",
    "sqlserver": ";;",
    "derby": ";;",
    "h2": ";;",
}
"""The separators before the first and before each other argument, by the kind of database."""
UTC_SESSION: Final = "time_zone='+00:00'"
"""The session variable of MySQL with which timestamps are sent in UTC."""
_ZONES: Final = ("sessionVariables", "serverTimezone", "connectionTimeZone", "timezone")


def get_database_kind(connection_string: str) -> str:
    """Return the kind of database: ``mysql`` of ``jdbc:mysql://…``."""
    return connection_string.split(":")[1].lower()


def split_arguments(arguments: str | None) -> list[str]:
    """Split ``a=1;b=2`` into its elements."""
    return [each for each in (arguments or "").split(";") if each.strip()]


def parse_arguments(arguments: str | None) -> dict[str, str]:
    """Parse ``a=1;b=2`` into values by name."""
    parts = (each.partition("=") for each in split_arguments(arguments))
    return {name.strip(): value.strip() for name, _, value in parts}


def add_defaults(url: str, arguments: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments, and the defaults of the kind of database for those that the user does not set."""
    given = " ".join([url, *arguments])
    usual = {}
    match get_database_kind(url):
        case "postgresql" if "stringtype" not in given:
            # Strings can be written into columns of types such as uuid and json.
            usual = {"stringtype": "unspecified"}
        case "mysql" | "mariadb" if not any(name in given for name in _ZONES):
            # Timestamps are sent as texts in the session's time zone, and Spark's time zone is UTC.
            usual = {"sessionVariables": UTC_SESSION}
    return usual | dict(arguments)


def add_to_url(
    url: str, arguments: Mapping[str, str], driver: str | None
) -> tuple[str, dict[str, str]]:
    """Return the connection string with the arguments, and the arguments that its syntax does not allow.

    :param driver: the driver's class; None if it is not known.
    """
    signs = _SYNTAX.get(get_database_kind(url))
    if signs is None:
        return url, dict(arguments)
    # The drivers of MySQL and PostgreSQL decode values, MariaDB's driver does not.
    is_decoded = signs == "?&" and "mariadb" not in (driver or "")
    for name, value in arguments.items():
        sign = signs[1] if signs[0] in url else signs[0]
        url += f"{sign}{name}={quote(value, safe='') if is_decoded else value}"
    return url, {}
