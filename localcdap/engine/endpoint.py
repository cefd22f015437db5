"""Addresses of Spark Connect servers: ``sc://host:port/;key=value;…``.

The parameters may contain a secret (``token=…``): neither an error nor :func:`hide_parameters` shows them.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec

_SCHEME: Final = "sc://"
_EXAMPLE: Final = "sc://host:15002/;token=…"
_OWN: Final = ("session_id",)
"""Parameters that localcdap sets itself."""


class Endpoint(msgspec.Struct, frozen=True):
    """The address of a Spark Connect server."""

    url: str
    """``sc://host:port``"""
    token: str | None
    """The token that a client must send; None for a server that needs no token."""


def hide_parameters(url: str) -> str:
    """Return the part of an address that may be shown: scheme, host and port."""
    server = url.partition(";")[0].rstrip("/")
    return _SCHEME + server.removeprefix(_SCHEME).rpartition("@")[2]


def find_address_error(url: str) -> str | None:
    """Say why a text is not an address that Spark's client accepts; None when it is one."""
    if not url.startswith(_SCHEME):
        scheme = url.partition("://")[0] if "://" in url else "none"
        return f"Expected an address such as '{_EXAMPLE}', got one whose scheme is '{scheme}'"
    server, _, parameters = url.partition(";")
    if any(character.isspace() for character in url):
        return "An address contains no blanks"
    try:
        parts = urlsplit("http" + server.removeprefix("sc"))
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"Expected an address such as '{_EXAMPLE}': {error}"
    if not host:
        return f"Expected an address such as '{_EXAMPLE}', got one without a host"
    if "@" in parts.netloc:
        return f"An address has no user; write a token after the semicolon: '{_EXAMPLE}'"
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        return f"The port is followed by '/;': '{_EXAMPLE}'"
    return _find_parameter_error(parameters, has_slash="/;" in url or ";" not in url)


def _find_parameter_error(text: str, *, has_slash: bool) -> str | None:
    if not text:
        return None
    if not has_slash:
        return f"Parameters follow '/;': '{_EXAMPLE}'"
    for parameter in text.split(";"):
        key, equals, value = parameter.partition("=")
        if not key or not equals or not value:
            return "Each parameter of an address is 'key=value', and ';' separates them"
        if "=" in value:
            return f"Parameter '{key}' of the address has '=' in its value; write it as %3D"
        if key in _OWN:
            return f"Parameter '{key}' of the address is set by localcdap; leave it out"
    return None
