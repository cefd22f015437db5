"""Plugins under test: references, by which the engine loads them like any other, and their configuration.

A stage is configured as the studio does it, but in this process.
"""

from __future__ import annotations

import datetime
import hashlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec

from localcdap.api.errors import BadRequestError, InvalidPipelineError, NotFoundError
from localcdap.api.failures import ArtifactId, ValidationFailure
from localcdap.api.locations import Locations
from localcdap.api.plugin import PLUGIN_MARK, Plugin
from localcdap.api.schema import Schema
from localcdap.api.stage import FindTable
from localcdap.artifacts.directories.contents import compute_digest
from localcdap.artifacts.directories.identity import PROJECT_FILE
from localcdap.artifacts.loading import (
    find_code_root,
    list_module_names,
    load_artifact,
    load_plugin,
    mount,
    to_file_module_name,
)
from localcdap.artifacts.model import PluginRef
from localcdap.pipeline.document.model import PluginUse, StageUse
from localcdap.pipeline.macros.evaluation import MacroContext
from localcdap.pipeline.macros.parser import create_macro_functions
from localcdap.pipeline.validation.plugins import PinnedPlugins
from localcdap.pipeline.validation.stage_configuration import (
    ConfiguredStage,
    StageConfiguration,
    StagePosition,
)
from localcdap.sandbox.stage_configuration import configure_stage

_VERSION: Final = "1.0.0"
_in_memory: Final[dict[type[Plugin], PluginRef]] = {}


def plugin_ref(cls: type[Plugin]) -> PluginRef:
    """Return a reference to a plugin class at the top level of a module.

    The module is loaded again as part of its artifact folder. A module outside of an artifact folder, such
    as that of a test, is an artifact by itself and must not use relative imports.

    :raises BadRequestError: when the class is not a plugin, or not at the top level of a file.
    """
    if cls.__qualname__ != cls.__name__:
        raise BadRequestError(
            f"Spark cannot load {cls.__qualname__}, which is defined inside a function or class.",
            "Move it to the top level of a module.",
        )
    file = _find_file(cls)
    return _find_artifact_ref(cls, file) or file_ref(cls)


def file_ref(cls: type[Plugin]) -> PluginRef:
    """Return a reference to a plugin class whose file is an artifact by itself."""
    file = _find_file(cls)
    return _build_ref(cls, file, compute_digest(file), to_file_module_name(file))


def artifact_ref(path: str | Path, type: str, name: str) -> PluginRef:
    """Return a reference to a plugin of an artifact, which is a folder or a Python file.

    :raises NotFoundError: when the artifact has no such plugin.
    """
    path_to_artifact = Path(path).resolve()
    content = compute_digest(path_to_artifact)
    classes = load_artifact(str(path_to_artifact), content)
    for cls in classes:
        if _get_mark(cls)[:2] == (type, name):
            return _build_ref(cls, path_to_artifact, content, cls.__module__.split(".", 1)[1])
    known = ", ".join(" ".join(_get_mark(cls)[:2]) for cls in classes)
    raise NotFoundError(
        f"{path_to_artifact} has no {type} plugin '{name}'.", f"It has: {known or 'none'}."
    )


def in_memory_ref(cls: type[Plugin]) -> PluginRef:
    """Return a reference to a plugin class that is not loaded again; valid in this process only."""
    if cls not in _in_memory:
        _in_memory[cls] = _create_in_memory_ref(cls)
    return _in_memory[cls]


def _create_in_memory_ref(cls: type[Plugin]) -> PluginRef:
    file = _find_file(cls)
    content = hashlib.sha256(f"{cls.__module__} {cls.__qualname__} {id(cls)}".encode()).hexdigest()
    package = mount(str(file), content)
    module = ModuleType(f"{package}.lent")
    vars(module)[cls.__name__] = cls
    sys.modules[module.__name__] = module
    return _build_ref(cls, file, content, "lent")


def _find_artifact_ref(cls: type[Plugin], file: Path) -> PluginRef | None:
    """Return a reference into the nearest folder with a project file, if the file is one of its modules."""
    for folder in file.parents:
        if (folder / PROJECT_FILE).is_file():
            root = find_code_root(folder)
            if not file.is_relative_to(root):
                return None
            inner = file.relative_to(root).with_suffix("").parts
            module = ".".join(part for part in inner if part != "__init__")
            if module not in list_module_names(str(folder)):
                return None
            return _build_ref(cls, folder, compute_digest(folder), module)
    return None


def _find_file(cls: type[Plugin]) -> Path:
    _get_mark(cls)
    try:
        return Path(inspect.getfile(cls)).resolve()
    except (TypeError, OSError) as error:
        raise BadRequestError(
            f"{cls.__qualname__} is not defined in a file.", "Write it to a module."
        ) from error


def _get_mark(cls: type[Plugin]) -> tuple[str, str, str]:
    """Return type, name and description of a plugin class.

    :raises BadRequestError: when the class is not a plugin.
    """
    mark: tuple[str, str, str] | None = vars(cls).get(PLUGIN_MARK)
    if mark is None:
        raise BadRequestError(f"{cls.__qualname__} is not a plugin.", "Decorate it with @plugin.")
    return mark


def _build_ref(cls: type[Plugin], path_to_artifact: Path, content: str, module: str) -> PluginRef:
    type_, name, _ = _get_mark(cls)
    artifact = ArtifactId(path_to_artifact.stem, _VERSION, "USER")
    return PluginRef(
        artifact, str(path_to_artifact), content, type_, name, f"{module}.{cls.__name__}"
    )


START: Final = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
"""The logical start time in tests."""


def validate_stage(
    name: str,
    ref: PluginRef,
    properties: Mapping[str, str],
    inputs: Mapping[str, Schema | None],
    *,
    ports: Sequence[str] = (),
    arguments: Mapping[str, str] | None = None,
    runtime: bool = False,
    locations: Locations | None = None,
    find_table: FindTable | None = None,
) -> ConfiguredStage:
    """Configure one stage.

    :param ports: the connected ports of a splitter.
    :param arguments: the values of macros.
    :param runtime: whether every macro must have a value, as in a run.
    :param locations: when given, ``configure_connected`` is called too.
    :param find_table: returns tables for ``configure_connected``; there are none by default.
    """
    start = int(START.timestamp() * 1000)
    configure = StageConfiguration(
        PinnedPlugins({name: ref}, load_plugin),
        partial(configure_stage, find_table=find_table, in_run=runtime),
        MacroContext(arguments, create_macro_functions(start), runtime=runtime),
        locations=locations,
    )
    use = StageUse(name, PluginUse(ref.type, ref.name, dict(properties)))
    return configure(use, dict(inputs), StagePosition(list(ports)))


def raise_failures(failures: Sequence[ValidationFailure]) -> None:
    """Raise the failures of a stage.

    :raises InvalidPipelineError: when there are any.
    """
    if failures:
        raise InvalidPipelineError(
            " ".join(failure.full_message for failure in failures),
            failures=[msgspec.to_builtins(failure) for failure in failures],
        )
