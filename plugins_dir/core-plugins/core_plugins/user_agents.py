"""Browsers and kinds of devices, from what they say of themselves."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_DESKTOPS: Final = frozenset(
    (
        "Windows",
        "Mac OS X",
        "Linux",
        "Ubuntu",
        "Fedora",
        "Debian",
        "Chrome OS",
        "FreeBSD",
        "OpenBSD",
    )
)
_ROBOT: Final = "Spider"
UNKNOWN: Final = "unknown"


@lru_cache(maxsize=4096)
def browser_and_device(user_agent: str) -> tuple[str, str]:
    """The browser's family and the kind of device.

    Kinds are ``Personal computer``, ``Smartphone``, ``Tablet`` and ``Other``. Both are ``unknown`` for a text
    that says neither. The families are those of the uap-core project; CDAP has an older list, so that single
    names may differ.
    """
    from ua_parser import parse

    found = parse(user_agent)
    browser = found.user_agent.family if found.user_agent else UNKNOWN
    system = found.os.family if found.os else None
    device = found.device.family if found.device else None
    return browser, _kind(user_agent, system, device)


def _kind(user_agent: str, system: str | None, device: str | None) -> str:
    if device == _ROBOT:
        return "Other"
    if device == "iPad" or "Tablet" in user_agent or _is_android_tablet(user_agent):
        return "Tablet"
    if "Mobi" in user_agent or device in ("iPhone", "iPod"):
        return "Smartphone"
    if system in _DESKTOPS:
        return "Personal computer"
    return "Other" if system or device else UNKNOWN


def _is_android_tablet(user_agent: str) -> bool:
    return "Android" in user_agent and "Mobi" not in user_agent
