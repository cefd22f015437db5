"""What the parts of a new artifact are called, all after the one name that its author gives."""

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
_MOST: Final = 60
"""Letters of the longest name."""
_IMPORTED: Final = frozenset(
    (*api_names, "DataFrame", "Path", "PipelineTester", "StageTester", "TemporaryInstance")
)
"""Names that templates import."""


class Names(msgspec.Struct, frozen=True):
    """The names of an artifact with one plugin, for instance of ``CsvLines``."""

    plugin: str
    """``CsvLines``, as pipelines name it."""
    cls: str
    """``CsvLines``"""
    module: str
    """``csv_lines``"""
    package: str
    """``csv_lines_plugins``; not that of the module, which may be one of the standard library."""
    artifact: str
    """``csv-lines-plugins``, also its folder."""


def derive_names(plugin: str) -> Names:
    """The names for a plugin.

    :raises BadRequestError: when it cannot be the name of a class.
    """
    if _NAME.fullmatch(plugin) is None or keyword.iskeyword(plugin):
        raise BadRequestError(
            f"{plugin!r} cannot be the name of a plugin class.",
            "Use a Python name: letters, digits and underscores, a letter first, such as CleanText.",
        )
    if len(plugin) > _MOST:
        raise BadRequestError(
            f"The name has {len(plugin)} letters.", f"Choose one of up to {_MOST}."
        )
    words = [word.lower() for word in _WORDS.findall(plugin)]
    cls = plugin if plugin[0].isupper() and "_" not in plugin else _joined(words)
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


def _joined(words: list[str]) -> str:
    return "".join(word.capitalize() for word in words)
