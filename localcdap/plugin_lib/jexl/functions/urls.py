"""IP addresses, host names, e-mail addresses and URLs, as commons-validator accepts them."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Final

_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DOMAIN: Final = re.compile(rf"(?:{_LABEL}\.)+([a-zA-Z](?:[a-zA-Z0-9-]{{0,61}}[a-zA-Z0-9])?)\.?")
_USER: Final = re.compile(
    r"""(?:"(?:\\"|[^"])*"|(?:[^\s\x00-\x1f\x7f()<>@,;:'\\".\[\]]|')+"""
    r"""(?:\.(?:[^\s\x00-\x1f\x7f()<>@,;:'\\".\[\]]|')+)*)"""
)
_URL: Final = re.compile(
    r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_AUTHORITY: Final = re.compile(
    r"(?:[a-zA-Z0-9%._~!$&'()*+,;=-]+(?::[a-zA-Z0-9%._~!$&'()*+,;=-]*)?@)?"
    r"(?:\[([0-9a-fA-F:]+)\]|([\w.-]*))(?::(\d*))?"
)
_PATH: Final = re.compile(r"(?:/[-\w:@&?=+,.!*'%$_;()~]*)*(?:/)?", re.ASCII)


@functools.cache
def list_top_levels() -> frozenset[str]:
    """Return the top-level domains, in lower case."""
    document = resources.files(__package__).joinpath("top_level_domains.txt")
    return frozenset(document.read_text("ascii").split())


def _ascii(name: str) -> str:
    try:
        return name if name.isascii() else name.encode("idna").decode("ascii")
    except UnicodeError:
        return name


def _level(name: str | None) -> str:
    return _ascii((name or "").removeprefix(".")).lower()


def is_top_level(name: str | None) -> bool:
    """Return whether a name is a top-level domain; a leading dot is accepted."""
    return _level(name) in list_top_levels()


def is_country(name: str | None) -> bool:
    return is_top_level(name) and len(_level(name)) == 2


def is_generic(name: str | None) -> bool:
    return is_top_level(name) and not is_country(name) and _level(name) != "arpa"


def is_domain(name: str | None) -> bool:
    if name is None:
        return False
    plain = _ascii(name)
    found = _DOMAIN.fullmatch(plain) if len(plain) <= 253 else None
    return found is not None and is_top_level(found.group(1))


def is_ipv4(address: str | None) -> bool:
    return address is not None and _IPV4.fullmatch(address) is not None


def is_ipv6(address: str | None) -> bool:
    if address is None or "::" in address.replace("::", "", 1) or "%" in address:
        return False
    head, _, tail = address.rpartition(":")
    if "." in tail:
        if not is_ipv4(tail):
            return False
        address = f"{head}:0:0"
    groups = address.split("::")
    parts = [part for group in groups for part in (group.split(":") if group else ())]
    if not all(re.fullmatch(r"[0-9a-fA-F]{1,4}", part) for part in parts):
        return False
    return len(parts) == 8 if len(groups) == 1 else len(parts) < 8


def is_email(address: str | None) -> bool:
    user, at, host = (address or "").rpartition("@")
    if not at or len(user) > 64 or _USER.fullmatch(user) is None:
        return False
    if host.startswith("[") and host.endswith("]"):
        return is_ipv4(host[1:-1]) or is_ipv6(host[1:-1])
    return is_domain(host) and not host.endswith(".")


def is_url(url: str | None) -> bool:
    """Return whether a text is an ``http``, ``https`` or ``ftp`` URL with a known top-level domain or an
    IP address.
    """
    found = _URL.fullmatch(url or "")
    if found is None or (found.group(1) or "").lower() not in ("http", "https", "ftp"):
        return False
    authority, path = found.group(2) or "", found.group(3)
    return _is_authority(authority) and _PATH.fullmatch(path) is not None and not _climbs(path)


def _is_authority(text: str) -> bool:
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return False
    six, host, port = found.groups()
    if port and not 0 <= int(port) <= 65_535:
        return False
    return is_ipv6(six) if six else is_ipv4(host) or is_domain(host)


def _climbs(path: str) -> bool:
    """Return whether a path has empty parts or leads above its root."""
    depth = 0
    for part in path.split("/")[1:]:
        depth += -1 if part == ".." else 1 if part not in ("", ".") else 0
        if depth < 0:
            return True
    return "//" in path
