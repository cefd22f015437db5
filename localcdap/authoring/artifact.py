"""Writes a new artifact from templates: completely, or not at all.

The names of the parts of a new artifact, derived from the name of its plugin.
"""

from __future__ import annotations

import builtins
import contextlib
import keyword
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from localcdap.api import __all__ as api_names
from localcdap.api.errors import BadRequestError, ConflictError

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MAX_LENGTH: Final = 60
"""The most letters of a name."""
_IMPORTED: Final = frozenset(
    (
        *api_names,
        *("DataFrame", "Path", "PipelineTester", "StageTester", "TemporaryInstance"),
        *("DatasetAdmin", "DatasetDefinition", "DatasetPropertiesError", "DatasetSpecification"),
        *("DatasetTester", "IncompatibleUpdateError", "Mapping", "StorageLayout", "TableLayout"),
    )
)
"""The names that templates import."""


class Names(msgspec.Struct, frozen=True):
    """The names in an artifact with one plugin, for instance ``CsvLines``."""

    plugin: str
    """``CsvLines``, the name in pipelines."""
    cls: str
    """``CsvLines``"""
    module: str
    """``csv_lines``"""
    package: str
    """``csv_lines_plugins``; not the module's name, which a module of the standard library may have."""
    artifact: str
    """``csv-lines-plugins``, also the name of the folder."""


def derive_names(plugin: str) -> Names:
    """Derive the names from the name of a plugin.

    :raises BadRequestError: when the name cannot be the name of a class.
    """
    if _NAME.fullmatch(plugin) is None or keyword.iskeyword(plugin):
        raise BadRequestError(
            f"{plugin!r} cannot be the name of a plugin class.",
            "Use a Python name: letters, digits and underscores, a letter first, such as CleanText.",
        )
    if len(plugin) > _MAX_LENGTH:
        raise BadRequestError(
            f"The name has {len(plugin)} letters.", f"Choose one of up to {_MAX_LENGTH}."
        )
    words = [word.lower() for word in _WORDS.findall(plugin)]
    cls = plugin if plugin[0].isupper() and "_" not in plugin else _to_camel_case(words)
    if cls in _IMPORTED or hasattr(builtins, cls) or keyword.iskeyword(cls):
        raise BadRequestError(
            f"The class would be called {cls}, which is a name of localcdap or of Python.",
            "Choose another name.",
        )
    module = "_".join(words)
    if keyword.iskeyword(module):
        module += "_"
    package = f"{'_'.join(words)}_plugins"
    return Names(plugin, cls, module, package, package.replace("_", "-"))


def _to_camel_case(words: list[str]) -> str:
    return "".join(word.capitalize() for word in words)


_TEMPLATES: Final = Path(__file__).parent / "templates"
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")


DATASET: Final = "dataset"
"""What :func:`write_artifact` takes for a dataset type instead of a plugin type."""


def list_plugin_types() -> list[str]:
    """Return the plugin types that have templates."""
    folders = {folder.name for folder in _TEMPLATES.iterdir() if folder.is_dir()}
    return sorted(folders - {DATASET})


def write_artifact(names: Names, type: str, directory: Path) -> Path:
    """Write an artifact with one plugin or dataset type, its documentation and its tests.

    The folder appears complete. When the process is killed before, a hidden folder may remain, which is not
    loaded as an artifact.

    :param type: one of :func:`list_plugin_types`, or :data:`DATASET`.
    :param directory: the parent of the new folder, created when it does not exist.
    :returns: the new folder.
    :raises ConflictError: when there is a file or folder of that name.
    :raises BadRequestError: when the files cannot be written.
    """
    target = directory / names.artifact
    texts = _render_files(names, type)
    try:
        if target.exists() or target.is_symlink():
            raise _build_conflict(target)
        directory.mkdir(parents=True, exist_ok=True)
        with _create_temporary_folder(directory, names.artifact) as folder:
            for name, text in texts.items():
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            _rename(folder, target)
    except OSError as error:
        raise BadRequestError(
            f"{target} cannot be written: {error.strerror or error}.",
            "Choose another folder with --directory.",
        ) from error
    return target


def _render_files(names: Names, type: str) -> dict[str, str]:
    """Return the text of each file, by its path in the artifact."""
    values = {
        "name": names.plugin,
        "class": names.cls,
        "module": names.module,
        "package": names.package,
        "artifact": names.artifact,
        "kind": "dataset type" if type == DATASET else f"{type} plugin",
    }
    templates = {
        "pyproject.toml": "pyproject.toml",
        f"{names.package}/__init__.py": "__init__.py",
        f"{names.package}/{names.module}.py": f"{type}/plugin.py",
        f"docs/{names.plugin}-{type}.md": f"{type}/docs.md",
        f"tests/test_{names.module}.py": f"{type}/test.py",
    }
    return {file: _render(template, values) for file, template in templates.items()}


def _render(template: str, values: Mapping[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.template").read_text(encoding="utf-8")
    return _PLACEHOLDER.sub(lambda placeholder: values[placeholder[1]], text)


@contextlib.contextmanager
def _create_temporary_folder(directory: Path, name: str) -> Iterator[Path]:
    """Provide a hidden folder in the target's parent; remove it at the end unless it was renamed."""
    folder = directory / f".{name}-{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rename(folder: Path, target: Path) -> None:
    try:
        folder.rename(target)
    except OSError as error:
        if target.exists():  # another process was faster
            raise _build_conflict(target) from error
        raise


def _build_conflict(target: Path) -> ConflictError:
    return ConflictError(
        f"{target} exists already.", "Choose another name, or another folder with --directory."
    )
