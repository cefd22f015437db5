"""Inspecting an artifact: it imports all modules, so only a plugin worker may do this."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final, TypeVar

import msgspec

from localcdap.api.app.application import ApplicationClass, describe_application
from localcdap.api.capability import get_capabilities
from localcdap.api.config import PluginConfig, PluginProperty
from localcdap.api.dataset.definition import (
    DATASET_TYPE_MARK,
    CompositeDefinition,
    DatasetDefinition,
)
from localcdap.api.declarations import collect_problems, list_problems
from localcdap.api.methods import PluginMethod, find_plugin_methods
from localcdap.api.plugin import PLUGIN_MARK, Plugin
from localcdap.artifacts.loading import (
    find_application_classes,
    find_code_root,
    find_dataset_type_classes,
    find_plugin_classes,
    import_module,
    list_module_names,
    mount,
    summarize_error,
    user_frames,
)
from localcdap.artifacts.model import DatasetTypeClass, Inspection, PluginClass
from localcdap.decoders import convert, decode_json
from localcdap.moved import list_uses

_Described = TypeVar("_Described")
_LONGEST_ERROR: Final = 4000
_MOST_ERRORS: Final = 200


def inspect_artifact(path: str, digest: str) -> Inspection:
    """Import all modules of an artifact and describe its plugins, applications and dataset types.

    All problems are in the errors of the result, each once.

    :param path: a ``.py`` file or a folder.
    :raises MemoryError: when importing takes more memory than there is.
    """
    place = Path(path)
    found = _Findings(place)
    for name in list_module_names(path):
        try:
            with collect_problems():
                module = import_module(path, digest, name)
        except MemoryError:
            raise
        except BaseException as error:
            found.raised = found.raised or not isinstance(error, SyntaxError)
            package = mount(path, digest)
            found.errors.append(_describe_import_error(error, place, package))
            found.trace += [line.replace(f"{package}.", "") for line in user_frames(error, place)]
            continue
        found.add_module(module, name)
    return found.inspection()


class _Findings:
    """What was found in the modules of an artifact so far."""

    def __init__(self, place: Path) -> None:
        self._path = place
        self._plugins: list[tuple[PluginClass, type[Plugin]]] = []
        self._applications: list[ApplicationClass] = []
        self._dataset_types: list[DatasetTypeClass] = []
        self.errors: list[str] = []
        self.trace: list[str] = []
        self.raised = False

    def add_module(self, module: ModuleType, name: str) -> None:
        """Describe the plugins, applications and dataset types that a module defines.

        :param name: the name of the module in the artifact's own code.
        """
        for problem in list_problems(module.__name__):
            self.errors.append(_format_problem(problem.owner, problem.message, self._path))
        for attribute, cls in find_plugin_classes(module):
            with self._collect_errors(cls):
                self._plugins.append((_describe_plugin(cls, f"{name}.{attribute}"), cls))
        for attribute, application in find_application_classes(module):
            with self._collect_errors(application):
                described = describe_application(application, f"{name}.{attribute}")
                self._applications.append(_encode_and_decode(described, ApplicationClass))

        for attribute, type_ in find_dataset_type_classes(module):
            with self._collect_errors(type_):
                found = _describe_dataset_type(type_, f"{name}.{attribute}")
                self._dataset_types.append(_encode_and_decode(found, DatasetTypeClass))

    def inspection(self) -> Inspection:
        errors = [
            *self.errors,
            *_find_duplicates(self._plugins, self._path),
            *_find_duplicate_types(self._dataset_types),
        ]
        if not (self._plugins or self._applications or self._dataset_types or errors):
            errors.append(_describe_missing(self._path))
        return Inspection(
            [plugin for plugin, _ in self._plugins],
            [_to_encodable(error)[:_LONGEST_ERROR] for error in dict.fromkeys(errors)][
                :_MOST_ERRORS
            ],
            self.raised,
            self._applications,
            [_to_encodable(line)[:_LONGEST_ERROR] for line in self.trace[:_MOST_ERRORS]],
            self._dataset_types,
            list(_list_moved_paths(self._path))[:_MOST_ERRORS],
        )

    @contextlib.contextmanager
    def _collect_errors(self, cls: type) -> Iterator[None]:
        """Turn an exception raised by describing a class into an error of the artifact."""
        try:
            yield
        except MemoryError:
            raise
        except BaseException as error:
            self.raised = True
            self.trace += user_frames(error, self._path)
            self.errors.append(_format_problem(cls, f"{type(error).__name__}: {error}", self._path))


def _describe_plugin(cls: type[Plugin], class_name: str) -> PluginClass:
    type_, name, description = vars(cls)[PLUGIN_MARK]
    if not (isinstance(cls.Config, type) and issubclass(cls.Config, PluginConfig)):
        raise TypeError("Config must be a class that extends PluginConfig.")
    return PluginClass(
        type=type_,
        name=name,
        description=_to_encodable(description),
        class_name=class_name,
        capabilities=sorted(get_capabilities(cls)),
        properties=[
            _encode_and_decode(declared.describe(), PluginProperty)
            for declared in cls.Config.get_fields().values()
        ],
        grain=cls.grain().value,
        methods=[
            _encode_and_decode(method.describe(), PluginMethod)
            for _, method in sorted(find_plugin_methods(cls).items())
        ],
    )


def _describe_dataset_type(cls: type[DatasetDefinition], class_name: str) -> DatasetTypeClass:
    # Imported here, because its imports would slow down the start of each worker.
    from localcdap.api.dataset.types import BUILT_IN_TYPES

    name, description = vars(cls)[DATASET_TYPE_MARK]
    if name in BUILT_IN_TYPES:
        raise TypeError(f"'{name}' is the name of a built-in dataset type; choose another one.")
    own = cls.reconfigure not in (DatasetDefinition.reconfigure, CompositeDefinition.reconfigure)
    return DatasetTypeClass(
        name,
        _to_encodable(description),
        class_name,
        own,
        dict(cls.properties),
        sorted(set(_list_embedded(cls)) - BUILT_IN_TYPES.keys()),
    )


def _list_embedded(cls: type[DatasetDefinition]) -> Iterator[str]:
    """Yield the types that a type embeds by their names, also within types that it embeds as objects."""
    for each in cls.embedded.values() if issubclass(cls, CompositeDefinition) else ():
        if isinstance(each, str):
            yield each
        else:
            yield from _list_embedded(type(each))


def _find_duplicate_types(found: list[DatasetTypeClass]) -> Iterator[str]:
    for name, count in Counter(each.name for each in found).items():
        if count > 1:
            where = ", ".join(each.class_name for each in found if each.name == name)
            yield f"Dataset type '{name}' is defined {count} times: {where}."


def _list_moved_paths(path: Path) -> Iterator[str]:
    """Yield a warning for each line of an artifact that has used an old path of localcdap."""
    for use in list_uses():
        file = Path(use.file)
        if file.is_relative_to(path):
            shown = file.relative_to(path).as_posix() if path.is_dir() else file.name
            yield (
                f"{shown}:{use.line} uses {use.old}, which has moved to {use.new}; change it, because "
                "the next version of localcdap does not have the old path."
            )


def _encode_and_decode(described: _Described, type: type[_Described]) -> _Described:
    """Return a description after encoding and decoding it, as another process receives it.

    :raises Exception: when a value has a wrong type, or cannot be encoded.
    """
    return convert(decode_json(msgspec.json.encode(described)), type)


def _to_encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _find_duplicates(found: list[tuple[PluginClass, type[Plugin]]], place: Path) -> Iterator[str]:
    counts = Counter((plugin.type, plugin.name) for plugin, _ in found)
    for (type_, name), count in counts.items():
        if count > 1:
            where = [
                f"{plugin.class_name} ({_find_position(cls, place)})"
                for plugin, cls in found
                if (plugin.type, plugin.name) == (type_, name)
            ]
            yield f"Plugin '{name}' of type '{type_}' is defined {count} times: {', '.join(where)}."


def _describe_import_error(error: BaseException, place: Path, package: str) -> str:
    text = summarize_error(error, place).replace(f"{package}.", "")
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return text
    if error.name.startswith(f"{package}."):
        return f"{text}. The artifact has no such module."
    top = error.name.partition(".")[0]
    if (find_code_root(place) / top).is_dir():
        return (
            f"{text}. The artifact is not installed: only its own import statements find '{top}' by that "
            "name; elsewhere use __package__, as in importlib.resources.files(__package__)."
        )
    # Imported here, because its imports would slow down the start of each worker.
    from localcdap.artifacts.selection import install_command

    return f"{text}. Install it: {install_command(error.name, place)}"


def _format_problem(cls: type, problem: str, place: Path) -> str:
    return f"{_find_position(cls, place)}: class {cls.__qualname__}: {problem}"


def _find_position(cls: type, place: Path) -> str:
    """Return the position of a class, such as ``module.py:12``."""
    import inspect

    try:
        file = Path(inspect.getfile(cls))
        shown = file.relative_to(place).as_posix() if place.is_dir() else file.name
    except (TypeError, ValueError):  # the class is defined in another file or in none
        return place.name
    try:
        return f"{shown}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return shown


def _describe_missing(place: Path) -> str:
    advice = "decorate a class with @plugin" + (
        ", and check that each package folder has an __init__.py" if place.is_dir() else ""
    )
    return f"{place.name} defines no plugin: {advice}."


_LONGEST: Final = 256 * 1024
"""The most bytes of a text that are read."""


def read_documentation(artifact: Path, type: str, name: str) -> str | None:
    """Return the text of ``docs/NAME-TYPE.md`` (the layout of CDAP 6) in an artifact, or None.

    :param artifact: the artifact's content: a folder, or a single file, which has no documentation.
    """
    folder = artifact / "docs"
    file = folder / f"{name}-{type}.md"
    try:
        if not file.resolve().is_relative_to(artifact.resolve()):
            return None
        with file.open("rb") as opened:
            return opened.read(_LONGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
