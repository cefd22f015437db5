"""The settings of an instance: one typed model, read from ``localcdap.toml`` and the environment.

Each setting is declared once, in :data:`OPTIONS`. Its environment variable, which overrides the file, is
its key in upper case with ``_`` for ``.`` after ``LOCALCDAP_``: ``LOCALCDAP_ENGINE_CORES`` for
``engine.cores``.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from localcdap.api.capability import Capabilities, normalize_capability
from localcdap.api.errors import SettingsError
from localcdap.artifacts.capabilities import CapabilityRequirement
from localcdap.decoders import convert
from localcdap.engine.endpoint import find_address_error, hide_parameters
from localcdap.openlineage.environment import list_client_settings, list_disabled_settings
from localcdap.security.privileges import UserPrivileges, read_user_privileges
from localcdap.text import nearest_name

NATIVE: Final = "native"
"""The built-in compute profile: the local Spark server."""


class Profile(msgspec.Struct):
    """A compute profile: an existing Spark cluster with Spark Connect."""

    remote: str
    """``sc://host:port[/;key=value…]``; the part after the semicolon is never shown."""
    required_capabilities: list[str] = msgspec.field(
        default_factory=lambda: [Capabilities.Mode.CLOUD]
    )
    """The capabilities or expressions that the profile requires of a plugin; empty allows every plugin."""
    locations: dict[str, str] = {}
    """The locations of foreign paths on that cluster, as ``[locations]`` for this machine."""
    packages: list[str] = []
    """Python packages of this machine that are sent with every run, for plugins that import them."""


class NamespaceSettings(msgspec.Struct):
    """The settings of the runs of one namespace."""

    profile: str | None = None
    """The compute profile; None: the one of the instance."""


class Settings(msgspec.Struct, kw_only=True):
    """The effective settings."""

    plugin_directories: list[str] = msgspec.field(default_factory=lambda: ["plugins"])
    """The plugin folders, relative to the instance's folder. Artifacts directly in one belong to the
    namespace ``default``, those in a sub-folder to the namespace of its name, those in ``system`` to all
    namespaces."""
    plugin_required_capabilities: list[str] = []
    """The capabilities or expressions that a visible plugin must have; empty: every plugin is
    visible. The environment can add to what the file requires, and cannot lift it (design "CDAP
    Capabilities", scenario 2.3)."""
    plugin_capabilities_known: list[str] = []
    """The capabilities that plugins may declare besides those of the system; empty: any. Others give
    warnings."""
    plugin_time_limit_s: float = 10.0
    """The time limit of one inspect, configure, debug or method call, in seconds."""
    plugin_memory_mb: int = 1024
    """The memory limit of a plugin worker with the processes that a plugin starts, in MiB."""
    app_time_limit_s: float = 60.0
    """The time limit of an answer of a system application, in seconds."""
    app_memory_mb: int = 1024
    """The memory limit of the process of a system application, in MiB."""
    app_idle_minutes: float = 10.0
    """The minutes without a call after which the process of a system application is stopped."""
    host_idle_seconds: float = 60.0
    """The seconds after which the host of the instance ends when no command, studio or program is connected,
    and no run, preview or test is active. A command that finds a host takes a second less than one that
    starts it; an idle host takes 100 MB."""
    engine_cores: str = "*"
    """The threads of the local Spark server; ``*``: as many as the machine has."""
    engine_memory: str = "2g"
    """The heap of the local Spark server, in the form of the JVM."""
    engine_idle_minutes: float = 30.0
    """The minutes without a run after which the local Spark server stops; 0: never."""
    engine_counts: bool = True
    """Whether the records of each stage are counted."""
    engine_warm_up: bool = True
    """Whether the studio starts the local Spark server when a pipeline is valid, before it is run."""
    engine_directory: str = "engine"
    """The directory of the local Spark server, relative to the instance's folder. Instances with the same
    directory share one server."""
    engine_profile: str = NATIVE
    """The compute profile of runs that do not name another."""
    runs_keep_days: float = 0.0
    """The days for which a run is kept; 0: no limit. With ``runs_keep_newest`` a run is kept when either of
    them keeps it."""
    runs_keep_newest: int = 0
    """The number of runs of each pipeline that are kept; 0: no limit."""
    lineage_retention_days: float = 0.0
    """The days for which the lineage of a run is kept, from the time in its id; 0: for ever."""
    preview_records: int = 100
    """The number of records that a preview reads from each source, at most 10,000."""
    openlineage_file: str = ""
    """The file for events of OpenLineage, relative to the instance's folder; empty: none."""
    openlineage_file_mb: int = 100
    """The size in MiB from which on a new file of events is begun."""
    openlineage_file_keep: int = 5
    """The number of older files of events that are kept."""
    openlineage_url: str = ""
    """The server to which events of OpenLineage are sent over HTTP; empty: none."""
    openlineage_endpoint: str = "api/v1/lineage"
    """The path on that server."""
    openlineage_api_key: str = ""
    """The key that is sent as a bearer token; it is never shown."""
    openlineage_timeout_s: float = 5.0
    """The time limit of a request to that server, in seconds."""
    openlineage_keep_events: int = 10_000
    """The events that wait when a destination cannot be reached; the oldest ones over it are dropped."""
    openlineage_instance: str = ""
    """The name of the instance in the namespaces of jobs; empty: the name of its folder."""
    security_enabled: bool = False
    """Whether the privileges of users are checked."""
    security_privileges: dict[str, UserPrivileges] = {}
    """The permissions of each user by the path of an entity."""
    locations: dict[str, str] = {}
    """The local folders of foreign paths, by prefix of a path in a pipeline."""
    profiles: dict[str, Profile] = {}
    """Compute profiles by name, without ``native``."""
    namespaces: dict[str, NamespaceSettings] = {}
    """Settings by namespace."""
    origins: dict[str, str] = {}
    """The origins of settings that are not defaults, by key: ``localcdap.toml:3``, ``$LOCALCDAP_…``."""


OPTIONS: Final[dict[str, str]] = {
    "plugin.directories": "plugin_directories",
    "plugin.required.capabilities": "plugin_required_capabilities",
    "plugin.capabilities.known": "plugin_capabilities_known",
    "plugin.time_limit_s": "plugin_time_limit_s",
    "plugin.memory_mb": "plugin_memory_mb",
    "app.time_limit_s": "app_time_limit_s",
    "app.memory_mb": "app_memory_mb",
    "app.idle_minutes": "app_idle_minutes",
    "host.idle_seconds": "host_idle_seconds",
    "engine.cores": "engine_cores",
    "engine.memory": "engine_memory",
    "engine.idle_minutes": "engine_idle_minutes",
    "engine.counts": "engine_counts",
    "engine.warm_up": "engine_warm_up",
    "engine.directory": "engine_directory",
    "engine.profile": "engine_profile",
    "runs.keep_days": "runs_keep_days",
    "runs.keep_newest": "runs_keep_newest",
    "lineage.retention.days": "lineage_retention_days",
    "preview.records": "preview_records",
    "openlineage.file": "openlineage_file",
    "openlineage.file_mb": "openlineage_file_mb",
    "openlineage.file_keep": "openlineage_file_keep",
    "openlineage.url": "openlineage_url",
    "openlineage.endpoint": "openlineage_endpoint",
    "openlineage.api_key": "openlineage_api_key",
    "openlineage.timeout_s": "openlineage_timeout_s",
    "openlineage.keep_events": "openlineage_keep_events",
    "openlineage.instance": "openlineage_instance",
    "security.enabled": "security_enabled",
}
"""Attributes of :class:`Settings` by key."""
SECRET_OPTIONS: Final = ("openlineage.api_key",)
"""The options whose values are never shown."""
_STRUCTS: Final[dict[str, Any]] = {"profiles": Profile, "namespaces": NamespaceSettings}
_PRIVILEGES: Final = "security.privileges"
_TABLES: Final = ("locations", *_STRUCTS, _PRIVILEGES)
_TYPES: Final = {f.encode_name: f.type for f in msgspec.structs.fields(Settings)}
_LISTS: Final = frozenset(name for name, type in _TYPES.items() if type == list[str])


def load_settings(file: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the effective settings; without a file the defaults.

    :raises SettingsError: when settings are invalid; lists all problems with line and key.
    """
    return read_settings(_read_text(file), file, environment)


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
        position = f"{file.name}:{_find_line(text, key)}"
        if key in _TABLES and isinstance(value, dict):
            entries = _read_table(key, value, _PositionFinder(file.name, text), problems)
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
    problems += _find_unknown_profiles(settings, document, _PositionFinder(file.name, text))
    if problems:
        raise SettingsError(
            "\n".join(problems), f"Correct {file}; 'localcdap doctor' shows all settings."
        )
    return settings


def _read_text(file: Path) -> str:
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
        converted = convert(_to_standard_form(attribute, value), _TYPES[attribute], strict=False)
        problem = _find_range_problem(attribute, converted)
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


class _PositionFinder:
    """Returns the file and line of a key."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text

    def __call__(self, key: str) -> str:
        return f"{self._file}:{_find_line(self._text, key)}"


def _read_table(
    table: str, entries: Mapping[str, Any], position: _PositionFinder, problems: list[str]
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
            except msgspec.ValidationError as error:
                found.append(("", str(error)))
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
            values[key] = convert(_normalize(key, value), fields[key].type)
        except (msgspec.ValidationError, ValueError) as error:
            problems.append((f".{key}", str(error)))
    return None if problems else kind(**values)


def _find_name_problem(name: str) -> str | None:
    if name.lower() == NATIVE:
        return f"The profile '{NATIVE}' is built in; give this one another name"
    if not re.fullmatch(r"[\w.-]+", name):
        return "The name of a profile has only letters, digits, '_', '.' and '-'"
    return None


def _normalize(key: str, value: Any) -> Any:
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


def _find_unknown_profiles(
    settings: Settings, document: Mapping[str, Any], position: _PositionFinder
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


def _to_standard_form(attribute: str, value: object) -> object:
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


def _find_range_problem(attribute: str, value: object) -> str | None:
    match attribute:
        case "engine_cores" if not re.fullmatch(r"\*|[1-9][0-9]*", str(value)):
            return f"Expected '*' or a number of threads, got '{value}'"
        case "engine_memory" if not re.fullmatch(r"[1-9][0-9]*[kKmMgGtT]?", str(value)):
            return f"Expected a size such as '2g' or '512m', got '{value}'"
        case (
            "plugin_memory_mb"
            | "preview_records"
            | "plugin_time_limit_s"
            | "app_memory_mb"
            | "app_time_limit_s"
            | "app_idle_minutes"
            | "openlineage_file_mb"
            | "openlineage_timeout_s"
            | "openlineage_keep_events"
        ) if not float(str(value)) > 0:
            return f"Expected a number above 0, got {value}"
        case "host_idle_seconds" if not float(str(value)) >= 0:
            return f"Expected 0 or more seconds, got {value}"
        case "engine_idle_minutes" if not float(str(value)) >= 0:
            return f"Expected 0 (never) or more minutes, got {value}"
        case "openlineage_url" if value and not re.match(r"https?://[^/]", str(value)):
            return f"Expected a URL such as 'http://localhost:5000', got '{value}'"
        case "openlineage_instance" if not re.fullmatch(r"[\w.-]*", str(value)):
            return f"Expected letters, digits, '_', '.' and '-', got '{value}'"
        case "openlineage_file_keep" if not float(str(value)) >= 0:
            return f"Expected 0 or more files, got {value}"
        case "runs_keep_days" | "runs_keep_newest" | "lineage_retention_days" if (
            not float(str(value)) >= 0
        ):
            return f"Expected 0 (no limit) or more, got {value}"
    return None


def _suggest_key(key: str) -> str:
    known = (*OPTIONS, *_TABLES)
    nearest = nearest_name(key, known)
    return f" Did you mean '{nearest}'?" if nearest else f" Known: {', '.join(known)}."


_KEY: Final = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=#])+)=""")


def _find_line(text: str, key: str) -> int:
    """Return the 1-based line that sets a key, or opens the table of that name; 1 when there is none."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if header := re.fullmatch(r"\[+\s*(.+?)\s*\]+\s*(#.*)?", bare):
            section = _unquote(header[1]) + "."
            if section.startswith(f"{key}."):
                return number
        elif match := _KEY.match(bare):
            name = section + _unquote(match[1])
            if name == key or name.startswith(f"{key}."):
                return number
    # A key of an inline table is on the line of the table.
    parent = key.rpartition(".")[0]
    return _find_line(text, parent) if parent else 1


def _unquote(key: str) -> str:
    """Return a dotted key without quotes and spaces around its parts."""
    parts = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+))\s*""", key)
    return ".".join((double or single or bare).strip() for double, single, bare in parts)
