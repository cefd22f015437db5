"""The values of settings: their standard form, and what is wrong with them."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

import msgspec

from localcdap.api.capability import normalize_capability
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.engine.endpoint import find_address_error
from localcdap.settings.model import Settings

VALUE_TYPES: Final = {f.encode_name: f.type for f in msgspec.structs.fields(Settings)}
"""By attribute of :class:`Settings`."""
_LISTS: Final = frozenset(name for name, type in VALUE_TYPES.items() if type == list[str])

_FROM_ZERO: Final = {
    "host_idle_seconds": "0 or more seconds",
    "engine_idle_minutes": "0 (never) or more minutes",
    "openlineage_file_keep": "0 or more files",
    "runs_parallel": "0 (as many as this machine can take) or more",
    "runs_keep_days": "0 (no limit) or more",
    "runs_keep_newest": "0 (no limit) or more",
    "lineage_retention_days": "0 (no limit) or more",
}
"""What is expected of numbers that may be 0, by attribute."""


def normalize_profile_value(key: str, value: Any) -> Any:
    """Return the normalized value of a profile.

    :raises ValueError: when it is invalid; the message does not contain the address.
    """
    if key == "remote" and isinstance(value, str) and (problem := find_address_error(value)):
        raise ValueError(problem)
    if key == "required_capabilities":
        return _parse_capabilities(value)
    return value


def _parse_capabilities(value: object) -> list[str]:
    """Return the distinct capabilities and expressions of a list or a comma-separated text.

    :raises ValueError: when the value is neither, or an expression is malformed.
    """
    parts = _parse_list(value) if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"Expected a list of capabilities such as ['mode_cloud'], got {value!r}")
    if isinstance(value, list) and not all(part.strip() for part in parts):
        raise ValueError("A capability is not empty")
    return CapabilityRequirement.parse(parts).texts


def to_standard_form(attribute: str, value: object) -> object:
    """Return a value in its standard form: a text as a list, a number of ``engine.cores`` as text.

    :raises ValueError: when the text of a list is malformed.
    """
    if attribute in _LISTS and isinstance(value, str):
        value = _parse_list(value)
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        return str(value) if attribute == "engine_cores" and isinstance(value, int) else value
    if attribute == "plugin_required_capabilities":
        return CapabilityRequirement.parse(value).texts
    if attribute == "plugin_capabilities_known":
        names = (name for part in value for name in part.split(",") if name.strip())
        return list(dict.fromkeys(map(normalize_capability, names)))
    return value


def _parse_list(text: str) -> list[str]:
    """Return the parts of a text that is an array of TOML, such as ``['a', 'b']``, or has commas.

    :raises ValueError: when a text that begins or ends like an array is none of texts.
    """
    bare = text.strip()
    if not bare.startswith("[") and not bare.endswith("]"):
        return [part.strip() for part in bare.split(",") if part.strip()]
    try:
        parts = tomllib.loads(f"parts = {bare}")["parts"]
    except tomllib.TOMLDecodeError:
        parts = None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        wanted = "Expected a list of texts such as ['a', 'b'], or a text such as 'a, b'"
        raise ValueError(f"{wanted}, got {text!r}")
    return parts


def find_range_problem(attribute: str, value: object) -> str | None:
    match attribute:
        case "engine_cores" if not re.fullmatch(r"\*|[1-9][0-9]*", str(value)):
            return f"Expected '*' or a number of threads, got '{value}'"
        case "engine_memory" if not re.fullmatch(r"[1-9][0-9]*[kKmMgGtT]?", str(value)):
            return f"Expected a size such as '2g' or '512m', got '{value}'"
        case (
            "plugin_memory_mb"
            | "plugin_session_memory_mb"
            | "preview_records"
            | "plugin_time_limit_s"
            | "app_memory_mb"
            | "app_time_limit_s"
            | "app_idle_minutes"
            | "app_jobs_at_once"
            | "app_job_memory_mb"
            | "openlineage_file_mb"
            | "openlineage_timeout_s"
            | "openlineage_keep_events"
        ) if not float(str(value)) > 0:
            return f"Expected a number above 0, got {value}"
        case "openlineage_url" if value and not re.match(r"https?://[^/]", str(value)):
            return f"Expected a URL such as 'http://localhost:5000', got '{value}'"
        case "openlineage_instance" if not re.fullmatch(r"[\w.-]*", str(value)):
            return f"Expected letters, digits, '_', '.' and '-', got '{value}'"
        case _ if attribute in _FROM_ZERO and not float(str(value)) >= 0:
            return f"Expected {_FROM_ZERO[attribute]}, got {value}"
    return None
