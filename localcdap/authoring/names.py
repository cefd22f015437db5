"""The names of the parts of a new artifact, derived from the name of its plugin."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Final

import msgspec

from localcdap.api import __all__ as api_names
from localcdap.api.errors import BadRequestError

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
