"""The environment variables of OpenLineage's clients, as settings of localcdap.

The names, and which one wins, are those of the Python client (``client/python/…/client.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_TRANSPORT: Final = "OPENLINEAGE__TRANSPORT__"
_HTTP: Final = ("http", "async_http")
_OF_HTTP: Final = {
    "URL": "openlineage.url",
    "ENDPOINT": "openlineage.endpoint",
    "TIMEOUT": "openlineage.timeout_s",
    "AUTH__APIKEY": "openlineage.api_key",
    "AUTH__API_KEY": "openlineage.api_key",
}
_SIMPLE: Final = {
    "OPENLINEAGE_URL": "openlineage.url",
    "OPENLINEAGE_ENDPOINT": "openlineage.endpoint",
    "OPENLINEAGE_API_KEY": "openlineage.api_key",
}
_DESTINATIONS: Final = ("openlineage.file", "openlineage.url")
DISABLED: Final = "OPENLINEAGE_DISABLED"
TYPES: Final = ("http", "file", "noop")
"""The types of transport that localcdap has."""


def list_client_settings(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the settings that variables of clients make: key, value and variable; the last of a key wins."""
    for variable, key in _SIMPLE.items():
        if environment.get(variable):
            yield key, environment[variable], variable
    type = read_transport_type(environment)
    if type in _HTTP:
        for part, key in _OF_HTTP.items():
            variable = f"{_TRANSPORT}{part}"
            if environment.get(variable):
                yield key, environment[variable], variable
    elif type == "file":
        variable = f"{_TRANSPORT}LOG_FILE_PATH"
        if environment.get(variable):
            yield "openlineage.file", environment[variable], variable
            yield "openlineage.url", "", f"{_TRANSPORT}TYPE"
    elif type == "noop":
        for key in _DESTINATIONS:
            yield key, "", f"{_TRANSPORT}TYPE"


def list_disabled_settings(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield what ``OPENLINEAGE_DISABLED=true`` switches off, whatever else is set."""
    if environment.get(DISABLED, "").strip().lower() == "true":
        for key in _DESTINATIONS:
            yield key, "", DISABLED


def find_unknown_transport(environment: Mapping[str, str]) -> str | None:
    """Return the type of transport that variables name and localcdap does not have; None: there is none."""
    type = read_transport_type(environment)
    return type if type and type not in (*TYPES, *_HTTP) else None


def read_transport_type(environment: Mapping[str, str]) -> str:
    """Return the type of transport that variables name; empty when they name none."""
    return environment.get(f"{_TRANSPORT}TYPE", "").strip().lower()
