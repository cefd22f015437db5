"""What a driver is told beside user and password: the user's connection arguments and what Spark needs.

Spark Connect's reader makes the names of its options lower-case, which drivers do not know: sessionVariables,
connectTimeout. So they are part of the connection string wherever its syntax has a place for them.
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
"""What precedes the first and each other argument in a connection string, by the kind of database."""
_ZONES: Final = ("sessionVariables", "serverTimezone", "connectionTimeZone", "timezone")


def get_database_kind(connection_string: str) -> str:
    """``mysql`` of ``jdbc:mysql://…``."""
    return connection_string.split(":")[1].lower()


def split_arguments(arguments: str | None) -> list[str]:
    """The parts of ``a=1;b=2``, as they are written."""
    return [each for each in (arguments or "").split(";") if each.strip()]


def parse_arguments(arguments: str | None) -> dict[str, str]:
    parts = (each.partition("=") for each in split_arguments(arguments))
    return {name.strip(): value.strip() for name, _, value in parts}


def add_defaults(url: str, arguments: Mapping[str, str]) -> dict[str, str]:
    """The arguments, with those that the kind of database needs where the user says nothing of them."""
    given = " ".join([url, *arguments])
    usual = {}
    match get_database_kind(url):
        case "postgresql" if "stringtype" not in given:
            # Texts are written into columns of uuid, json and the like.
            usual = {"stringtype": "unspecified"}
        case "mysql" | "mariadb" if not any(name in given for name in _ZONES):
            # Moments are texts of the session's time zone on their way, and Spark's is UTC.
            usual = {"sessionVariables": "time_zone='+00:00'"}
    return usual | dict(arguments)


def add_to_url(
    url: str, arguments: Mapping[str, str], driver: str | None
) -> tuple[str, dict[str, str]]:
    """The connection string with the arguments, and those that have no place in it.

    :param driver: the driver's class; None where it is not known.
    """
    signs = _SYNTAX.get(get_database_kind(url))
    if signs is None:
        return url, dict(arguments)
    # MariaDB's driver takes values as they are, those of MySQL and PostgreSQL decode them.
    is_decoded = signs == "?&" and "mariadb" not in (driver or "")
    for name, value in arguments.items():
        sign = signs[1] if signs[0] in url else signs[0]
        url += f"{sign}{name}={quote(value, safe='') if is_decoded else value}"
    return url, {}
