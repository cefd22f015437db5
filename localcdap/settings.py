"""The settings of an instance: one typed model, read from ``localcdap.toml`` and the environment.

Each setting is declared once, in :data:`OPTIONS`. The environment variable of a setting is its key in
upper case with ``_`` for ``.``, behind ``LOCALCDAP_`` (``engine.cores`` is ``LOCALCDAP_ENGINE_CORES``); it
wins over the file.
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
from localcdap.engine.endpoint import find_address_error, hide_parameters

NATIVE: Final = "native"
"""The compute profile of the local Spark server, which is always there."""


class Profile(msgspec.Struct):
    """A compute profile: an existing Spark cluster, reached through Spark Connect."""

    remote: str
    """``sc://host:port[/;key=value…]``; what stands behind the semicolon is never shown."""
    required_capabilities: list[str] = msgspec.field(
        default_factory=lambda: [Capabilities.Mode.CLOUD]
    )
    """A plugin must have all of these to run there; empty: every plugin may."""
    locations: dict[str, str] = {}
    """Where foreign paths live on that cluster, as ``[locations]`` says it for this machine."""
    packages: list[str] = []
    """Python packages of this machine that go along with every run, for plugins that import them."""


class NamespaceSettings(msgspec.Struct):
    """What holds for the runs of one namespace."""

    profile: str | None = None
    """The compute profile; None: that of the instance."""


class Settings(msgspec.Struct, kw_only=True):
    """The effective settings."""

    plugin_directories: list[str] = msgspec.field(default_factory=lambda: ["plugins"])
    """Drop-in folders, relative to the instance's folder; a sub-folder is a namespace."""
    plugin_required_capabilities: list[str] = []
    """A plugin must have all of these to be seen at all; empty: every plugin is seen."""
    plugin_time_limit_s: float = 10.0
    """Seconds that one inspect, configure, debug or method call may take."""
    plugin_memory_mb: int = 1024
    """Memory of the plugin worker, in MiB."""
    app_time_limit_s: float = 60.0
    """Seconds that a system application may take to answer."""
    app_memory_mb: int = 1024
    """Memory of the process of a system application, in MiB."""
    app_idle_minutes: float = 10.0
    """Minutes without a call after which the process of a system application is ended."""
    engine_cores: str = "*"
    """Threads of the local Spark server; ``*``: as many as the machine has."""
    engine_memory: str = "2g"
    """Heap of the local Spark server, as the JVM writes it."""
    engine_idle_minutes: float = 30.0
    """Minutes without a run after which the local Spark server stops; 0: never."""
    engine_counts: bool = True
    """Whether records are counted per stage."""
    engine_directory: str = "engine"
    """Where the local Spark server keeps its files, relative to the instance's folder. Instances that
    name the same directory share one server."""
    engine_profile: str = NATIVE
    """The compute profile of runs that are not told another."""
    preview_records: int = 100
    """Records read from each source in a preview."""
    locations: dict[str, str] = {}
    """Where foreign paths live on this machine: prefix of a path in a pipeline, local folder."""
    profiles: dict[str, Profile] = {}
    """By name; ``native`` is not among them."""
    namespaces: dict[str, NamespaceSettings] = {}
    origins: dict[str, str] = {}
    """Where each setting that is not a default came from, by key: ``localcdap.toml:3``, ``$LOCALCDAP_…``."""


OPTIONS: Final[dict[str, str]] = {
    "plugin.directories": "plugin_directories",
    "plugin.required.capabilities": "plugin_required_capabilities",
    "plugin.time_limit_s": "plugin_time_limit_s",
    "plugin.memory_mb": "plugin_memory_mb",
    "app.time_limit_s": "app_time_limit_s",
    "app.memory_mb": "app_memory_mb",
    "app.idle_minutes": "app_idle_minutes",
    "engine.cores": "engine_cores",
    "engine.memory": "engine_memory",
    "engine.idle_minutes": "engine_idle_minutes",
    "engine.counts": "engine_counts",
    "engine.directory": "engine_directory",
    "engine.profile": "engine_profile",
    "preview.records": "preview_records",
}
"""Attribute of :class:`Settings` by key."""
_STRUCTS: Final[dict[str, Any]] = {"profiles": Profile, "namespaces": NamespaceSettings}
_TABLES: Final = ("locations", *_STRUCTS)
_TYPES: Final = {f.encode_name: f.type for f in msgspec.structs.fields(Settings)}


def load_settings(file: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The effective settings; an absent file means the defaults.

    :raises SettingsError: with every problem at once, each with its line and key.
    """
    return read_settings(_text_of(file), file, environment)


def read_settings(text: str, file: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings that would be effective if a text stood in the file.

    :raises SettingsError: as :func:`load_settings`.
    """
    settings = Settings(origins={})
    problems: list[str] = []
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: {error}.", "Correct the TOML syntax at that place.") from None
    for key, value in _flatten(document):
        place = f"{file.name}:{_line_of(text, key)}"
        if key in _TABLES and isinstance(value, dict):
            setattr(settings, key, _table(key, value, _Places(file.name, text), problems))
            settings.origins[key] = place
        else:
            _assign(settings, key, value, place, problems)
    for key in OPTIONS:
        variable = "LOCALCDAP_" + re.sub(r"\W", "_", key).upper()
        if variable in environment:
            _assign(settings, key, environment[variable], f"${variable}", problems)
    problems += _unknown_profiles(settings, document, _Places(file.name, text))
    if problems:
        raise SettingsError(
            "\n".join(problems), f"Correct {file}; 'localcdap doctor' shows it all."
        )
    return settings


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{file} cannot be read: {error}.", "It must be a readable file in UTF-8."
        ) from None


def effective(settings: Settings) -> dict[str, Any]:
    """The settings by key, as they would stand in the file, but without what is secret."""
    values: dict[str, Any] = {key: getattr(settings, name) for key, name in OPTIONS.items()}
    values["locations"] = settings.locations
    values["profiles"] = {
        name: msgspec.to_builtins(profile) | {"remote": hide_parameters(profile.remote)}
        for name, profile in settings.profiles.items()
    }
    values["namespaces"] = msgspec.to_builtins(settings.namespaces)
    return values


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys and values; the tables whose keys are the user's own stay whole."""
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in _TABLES:
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


def _assign(settings: Settings, key: str, value: object, place: str, problems: list[str]) -> None:
    attribute = OPTIONS.get(key, key if key in _TABLES else None)
    if attribute is None:
        problems.append(f"{place}: unknown setting '{key}'.{_nearest(key)}")
        return
    try:
        converted = msgspec.convert(_spelled(attribute, value), _TYPES[attribute], strict=False)
        problem = _out_of_range(attribute, converted)
    except msgspec.ValidationError as error:
        problem = str(error)
    if problem:
        problems.append(f"{place}: {key}: {problem}")
        return
    setattr(settings, attribute, converted)
    settings.origins[key] = place


class _Places:
    """Where the keys of a file stand."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text

    def __call__(self, key: str) -> str:
        return f"{self._file}:{_line_of(self._text, key)}"


def _table(
    table: str, entries: Mapping[str, Any], place: _Places, problems: list[str]
) -> dict[str, Any]:
    """The good entries of a table whose keys are the user's own."""
    values: dict[str, Any] = {}
    for name, entry in entries.items():
        found: list[tuple[str, str]] = []
        if table in _STRUCTS:
            values[name] = _entry(table, name, entry, found)
        else:
            try:
                values[name] = msgspec.convert(entry, str)
            except msgspec.ValidationError as error:
                found.append(("", str(error)))
        for key, problem in found:
            full = f"{table}.{name}{key}"
            problems.append(f"{place(full)}: {full}: {problem}")
        if found:
            values.pop(name, None)
    return values


def _entry(table: str, name: str, entry: object, problems: list[tuple[str, str]]) -> Any:
    """An entry that is a table itself; each problem with the key that it is at."""
    kind = _STRUCTS[table]
    if not isinstance(entry, dict):
        problems.append(("", f"Expected a table: [{table}.{name}]"))
        return None
    if table == "profiles" and (problem := _unusable_name(name)):
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
            values[key] = msgspec.convert(_checked(key, value), fields[key].type)
        except (msgspec.ValidationError, ValueError) as error:
            problems.append((f".{key}", str(error)))
    return None if problems else kind(**values)


def _unusable_name(name: str) -> str | None:
    if name.lower() == NATIVE:
        return f"The profile '{NATIVE}' is built in; give this one another name"
    if not re.fullmatch(r"[\w.-]+", name):
        return "The name of a profile has only letters, digits, '_', '.' and '-'"
    return None


def _checked(key: str, value: Any) -> Any:
    """A value of a profile in its one spelling.

    :raises ValueError: when it means nothing; says so without the value of an address.
    """
    if key == "remote" and isinstance(value, str) and (problem := find_address_error(value)):
        raise ValueError(problem)
    if key == "required_capabilities":
        return _capabilities(value)
    return value


def _capabilities(value: object) -> list[str]:
    """Capabilities as a list or a comma text, each once.

    :raises ValueError: when it is neither.
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"Expected a list of capabilities such as ['mode_cloud'], got {value!r}")
    if isinstance(value, list) and not all(part.strip() for part in parts):
        raise ValueError("A capability is not empty")
    return list(dict.fromkeys(normalize_capability(part) for part in parts if part.strip()))


def _unknown_profiles(
    settings: Settings, document: Mapping[str, Any], place: _Places
) -> Iterator[str]:
    """What is said of profiles that are not there, also not as broken ones."""
    written = document.get("profiles")
    known = [NATIVE, *(written if isinstance(written, dict) else ())]
    uses = [
        (f"namespaces.{name}.profile", each.profile) for name, each in settings.namespaces.items()
    ]
    named = [(place(key), key, profile) for key, profile in uses]
    key = "engine.profile"
    named.append((settings.origins.get(key, ""), key, settings.engine_profile))
    for where, key, profile in named:
        if profile is not None and profile not in known:
            yield f"{where}: {key}: There is no profile '{profile}'; there are: {', '.join(known)}"


def _spelled(attribute: str, value: object) -> object:
    """Accept the other spellings: a comma string for a list, a number for ``engine.cores``."""
    if attribute == "plugin_required_capabilities":
        parts = [value] if isinstance(value, str) else value
        if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
            return [
                normalize_capability(part) for part in ",".join(parts).split(",") if part.strip()
            ]
    if attribute == "plugin_directories" and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if attribute == "engine_cores" and isinstance(value, int):
        return str(value)
    return value


def _out_of_range(attribute: str, value: object) -> str | None:
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
        ) if not float(str(value)) > 0:
            return f"Expected a number above 0, got {value}"
        case "engine_idle_minutes" if not float(str(value)) >= 0:
            return f"Expected 0 (never) or more minutes, got {value}"
    return None


def _nearest(key: str) -> str:
    from rapidfuzz import process

    match = process.extractOne(key, [*OPTIONS, *_TABLES], score_cutoff=60)
    return (
        f" Did you mean '{match[0]}'?" if match else f" Known: {', '.join((*OPTIONS, *_TABLES))}."
    )


_KEY: Final = re.compile(r"""((?:"[^"]*"|'[^']*'|[^"'=#])+)=""")


def _line_of(text: str, key: str) -> int:
    """The 1-based line that sets ``key`` (or opens the table of that name); 1 when not found."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if header := re.fullmatch(r"\[+\s*(.+?)\s*\]+\s*(#.*)?", bare):
            section = _unquoted(header[1]) + "."
            if section.startswith(f"{key}."):
                return number
        elif match := _KEY.match(bare):
            name = section + _unquoted(match[1])
            if name == key or name.startswith(f"{key}."):
                return number
    # An inline table stands on the line of its own key.
    parent = key.rpartition(".")[0]
    return _line_of(text, parent) if parent else 1


def _unquoted(key: str) -> str:
    """A dotted key without its quotes and the space around its parts."""
    parts = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([^."']+))\s*""", key)
    return ".".join((double or single or bare).strip() for double, single, bare in parts)
