"""Reading the settings from ``localcdap.toml`` and the environment.

Where a key stands in the file of the settings.

The values of settings: their standard form, and what is wrong with them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.capability import normalize_capability
from localcdap.api.errors import BadRequestError, SettingsError
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.decoders import convert
from localcdap.engine.endpoint import find_address_error, hide_parameters
from localcdap.openlineage.destinations import list_client_settings, list_disabled_settings
from localcdap.pipeline.recordings.model import parse_recording
from localcdap.security.privileges import read_user_privileges
from localcdap.settings.model import (
    NATIVE,
    OPTIONS,
    SECRET_OPTIONS,
    NamespaceSettings,
    Profile,
    Settings,
)
from localcdap.text import nearest_name

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


class PositionFinder:
    """Returns the file and line of a key."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text

    def __call__(self, key: str) -> str:
        return f"{self._file}:{find_line(self._text, key)}"


_KEY: Final = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=#])+)=""")


def find_line(text: str, key: str) -> int:
    """Return the 1-based line that sets a key, or opens the table of that name; 1 when there is none."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if header := re.fullmatch(r"\[+\s*(.+?)\s*\]+\s*(#.*)?", bare):
            section = _unquote_toml_key(header[1]) + "."
            if section.startswith(f"{key}."):
                return number
        elif match := _KEY.match(bare):
            name = section + _unquote_toml_key(match[1])
            if name == key or name.startswith(f"{key}."):
                return number
    # A key of an inline table is on the line of the table.
    parent = key.rpartition(".")[0]
    return find_line(text, parent) if parent else 1


def _unquote_toml_key(key: str) -> str:
    """Return a dotted key without quotes and spaces around its parts."""
    parts = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+))\s*""", key)
    return ".".join((double or single or bare).strip() for double, single, bare in parts)


_STRUCTS: Final[dict[str, Any]] = {"profiles": Profile, "namespaces": NamespaceSettings}
_PRIVILEGES: Final = "security.privileges"
_TABLES: Final = ("locations", "recordings", *_STRUCTS, _PRIVILEGES)


def load_settings(file: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the effective settings; without a file the defaults.

    :raises SettingsError: when settings are invalid; lists all problems with line and key.
    """
    return read_settings(_read_settings_text(file), file, environment)


def read_settings(text: str, file: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that would be effective with this text of the file.

    :raises SettingsError: as :func:`load_settings`.
    """
    settings = Settings(origins={})
    problems: list[str] = []
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: {error}.", "Correct the TOML syntax at that place.") from None
    for key, value in _flatten(document):
        position = f"{file.name}:{find_line(text, key)}"
        if key in _TABLES and isinstance(value, dict):
            entries = _read_table(key, value, PositionFinder(file.name, text), problems)
            setattr(settings, key.replace(".", "_"), entries)
            settings.origins[key] = position
        else:
            _assign(settings, key, value, position, problems)
    for key, value, variable in list_client_settings(environment):
        _assign(settings, key, value, f"${variable}", problems)
    for key in OPTIONS:
        variable = "LOCALCDAP_" + re.sub(r"\W", "_", key).upper()
        if variable in environment:
            _override(settings, key, environment[variable], f"${variable}", problems)
    for key, value, variable in list_disabled_settings(environment):
        _assign(settings, key, value, f"${variable}", problems)
    problems += _find_unknown_profiles(settings, document, PositionFinder(file.name, text))
    problems += _adapt_session_memory(settings)
    if problems:
        raise SettingsError(
            "\n".join(problems), f"Correct {file}; 'localcdap doctor' shows all settings."
        )
    return settings


def _read_settings_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file} cannot be read: {error}.", "It must be a readable file in UTF-8."
        ) from None


def describe_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings by key, as in the file but without secrets."""
    values: dict[str, Any] = {key: getattr(settings, name) for key, name in OPTIONS.items()}
    values |= {key: "********" for key in SECRET_OPTIONS if values[key]}
    values["locations"] = settings.locations
    values["recordings"] = settings.recordings
    values["profiles"] = {
        name: msgspec.to_builtins(profile) | {"remote": hide_parameters(profile.remote)}
        for name, profile in settings.profiles.items()
    }
    values["namespaces"] = msgspec.to_builtins(settings.namespaces)
    values[_PRIVILEGES] = msgspec.to_builtins(settings.security_privileges)
    return values


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values; a table with keys of the user is one value."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in _TABLES:
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


def _assign(
    settings: Settings, key: str, value: object, position: str, problems: list[str]
) -> None:
    attribute = OPTIONS.get(key, key.replace(".", "_") if key in _TABLES else None)
    if attribute is None:
        problems.append(f"{position}: unknown setting '{key}'.{_suggest_key(key)}")
        return
    try:
        converted = convert(
            to_standard_form(attribute, value), VALUE_TYPES[attribute], strict=False
        )
        problem = find_range_problem(attribute, converted)
    except ValueError as error:  # msgspec's errors too
        problem = str(error)
    if problem:
        problems.append(f"{position}: {key}: {problem}")
        return
    setattr(settings, attribute, converted)
    settings.origins[key] = position


def _override(settings: Settings, key: str, value: str, variable: str, problems: list[str]) -> None:
    """Set a setting from the environment. Required capabilities are added to those of the file."""
    origin = settings.origins.get(key)
    if key != "plugin.required.capabilities" or origin is None:
        _assign(settings, key, value, variable, problems)
        return
    required = settings.plugin_required_capabilities
    _assign(settings, key, value, variable, problems)
    if settings.origins[key] == variable:
        added = settings.plugin_required_capabilities
        settings.plugin_required_capabilities = list(dict.fromkeys((*required, *added)))
        settings.origins[key] = f"{origin} and {variable}"


def _read_table(
    table: str, entries: Mapping[str, Any], position: PositionFinder, problems: list[str]
) -> dict[str, Any]:
    """Return the valid entries of a table with keys of the user, and add the problems of the others."""
    values: dict[str, Any] = {}
    for name, entry in entries.items():
        found: list[tuple[str, str]] = []
        if table in _STRUCTS:
            values[name] = _read_entry(table, name, entry, found)
        elif table == _PRIVILEGES:
            values[name] = read_user_privileges(entry, found)
        else:
            try:
                values[name] = convert(entry, str)
                if table == "recordings":
                    parse_recording(values[name])
            except msgspec.ValidationError as error:
                found.append(("", str(error)))
            except BadRequestError as error:
                found.append(("", f"{error.message} {error.corrective_action or ''}".rstrip()))
        for key, problem in found:
            full = f"{table}.{name}{key}"
            problems.append(f"{position(full)}: {full}: {problem}")
        if found:
            values.pop(name, None)
    return values


def _read_entry(table: str, name: str, entry: object, problems: list[tuple[str, str]]) -> Any:
    """Return an entry that is a table, and add its problems, each with its key."""
    kind = _STRUCTS[table]
    if not isinstance(entry, dict):
        problems.append(("", f"Expected a table: [{table}.{name}]"))
        return None
    if table == "profiles" and (problem := _find_name_problem(name)):
        problems.append(("", problem))
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for key, field in fields.items():
        if field.required and key not in entry:
            problems.append(("", f"It has no '{key}'"))
    values = {}
    for key, value in entry.items():
        try:
            if key not in fields:
                raise ValueError(f"Unknown key; known are: {', '.join(fields)}")
            values[key] = convert(normalize_profile_value(key, value), fields[key].type)
        except (msgspec.ValidationError, ValueError) as error:
            problems.append((f".{key}", str(error)))
    return None if problems else kind(**values)


def _find_name_problem(name: str) -> str | None:
    if name.lower() == NATIVE:
        return f"The profile '{NATIVE}' is built in; give this one another name"
    if not re.fullmatch(r"[\w.-]+", name):
        return "The name of a profile has only letters, digits, '_', '.' and '-'"
    return None


def _find_unknown_profiles(
    settings: Settings, document: Mapping[str, Any], position: PositionFinder
) -> Iterator[str]:
    """Yield a problem for each use of a profile that is not defined, not even with errors."""
    written = document.get("profiles")
    known = [NATIVE, *(written if isinstance(written, dict) else ())]
    uses = [
        (f"namespaces.{name}.profile", each.profile) for name, each in settings.namespaces.items()
    ]
    named = [(position(key), key, profile) for key, profile in uses]
    key = "engine.profile"
    named.append((settings.origins.get(key, ""), key, settings.engine_profile))
    for where, key, profile in named:
        if profile is not None and profile not in known:
            yield f"{where}: {key}: There is no profile '{profile}'; available: {', '.join(known)}"


def _adapt_session_memory(settings: Settings) -> Iterator[str]:
    """Have the default of ``plugin.session_memory_mb`` leave half of ``plugin.memory_mb``.

    Yield a problem when a value that is set is more than the whole.
    """
    key, whole = "plugin.session_memory_mb", settings.plugin_memory_mb
    origin = settings.origins.get(key)
    if origin is None:
        settings.plugin_session_memory_mb = min(
            settings.plugin_session_memory_mb, max(whole // 2, 1)
        )
    elif settings.plugin_session_memory_mb > whole:
        yield (
            f"{origin}: {key}: Expected at most {whole}, as it is part of plugin.memory_mb, "
            f"got {settings.plugin_session_memory_mb}"
        )


def _suggest_key(key: str) -> str:
    known = (*OPTIONS, *_TABLES)
    nearest = nearest_name(key, known)
    return f" Did you mean '{nearest}'?" if nearest else f" Known: {', '.join(known)}."
