"""Addresses of Spark Connect servers: ``sc://host:port/;key=value;…``.

What stands behind the semicolon may be a secret (``token=…``): neither an error nor :func:`public` shows it.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

_SCHEME: Final = "sc://"
_EXAMPLE: Final = "sc://host:15002/;token=…"
_OWN: Final = ("session_id",)
"""Parameters that localcdap sets itself."""


def public(url: str) -> str:
    """The part of an address that may be shown: scheme, host and port."""
    place = url.partition(";")[0].rstrip("/")
    return _SCHEME + place.removeprefix(_SCHEME).rpartition("@")[2]


def problem_of(url: str) -> str | None:
    """Why a text is no address that Spark's client accepts; None when it is one."""
    if not url.startswith(_SCHEME):
        scheme = url.partition("://")[0] if "://" in url else "none"
        return f"Expected an address such as '{_EXAMPLE}', got one whose scheme is '{scheme}'"
    place, _, parameters = url.partition(";")
    if any(character.isspace() for character in url):
        return "An address has no blanks in it"
    try:
        parts = urlsplit("http" + place.removeprefix("sc"))
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"Expected an address such as '{_EXAMPLE}': {error}"
    if not host:
        return f"Expected an address such as '{_EXAMPLE}', got one without a host"
    if "@" in parts.netloc:
        return f"An address has no user in it; a token stands behind the semicolon: '{_EXAMPLE}'"
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        return f"Nothing stands between the port and '/;': '{_EXAMPLE}'"
    return _problem_of_parameters(parameters, written="/;" in url or ";" not in url)


def _problem_of_parameters(text: str, *, written: bool) -> str | None:
    if not text:
        return None
    if not written:
        return f"Parameters stand behind '/;': '{_EXAMPLE}'"
    for parameter in text.split(";"):
        key, equals, value = parameter.partition("=")
        if not key or not equals or not value:
            return "Each parameter of an address is 'key=value', and ';' separates them"
        if "=" in value:
            return f"Parameter '{key}' of the address has a '=' in its value; write it as %3D"
        if key in _OWN:
            return f"Parameter '{key}' of the address is localcdap's own; leave it out"
    return None
