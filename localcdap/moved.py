"""Old paths of modules and names, which work for one more version with a DeprecationWarning.

The root package installs the finder, so that every process that imports any module of localcdap has it:
programs, plugin workers, run processes and Spark's Python workers. A module that still exists but has lost
names defines ``__getattr__ = build_getattr(__name__)``. This module imports no other one of localcdap.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import FrameType, ModuleType
from typing import Any, Final, NamedTuple

MOVED: Final[dict[str, str]] = {
    "localcdap.api.alerts": "localcdap.api.control",
    "localcdap.api.app.Entity": "localcdap.api.app.MetadataEntity",
    "localcdap.api.app.events.Entity": "localcdap.api.app.events.MetadataEntity",
    "localcdap.api.argument": "localcdap.api.directive.argument",
    "localcdap.api.arrow.arrow_schema": "localcdap.api.arrow.to_arrow_schema",
    "localcdap.api.arrow.arrow_type": "localcdap.api.arrow.to_arrow_type",
    "localcdap.api.arrow.union_tags": "localcdap.api.arrow.list_union_tags",
    "localcdap.api.directive.Range": "localcdap.api.directive.NumberRange",
    "localcdap.api.directive.argument.Range": "localcdap.api.directive.argument.NumberRange",
    "localcdap.api.lookup": "localcdap.api.tables",
    "localcdap.api.record_json.record_from_text": "localcdap.api.record_json.decode_text_record",
    "localcdap.api.record_json.record_to_json": "localcdap.api.record_json.encode_json_record",
    "localcdap.api.record_json.records_from_json": "localcdap.api.record_json.decode_json_records",
    "localcdap.api.rows": "localcdap.api.directive.rows",
    "localcdap.api.table_writes": "localcdap.api.tables",
    "localcdap.api.tables.MadeTable": "localcdap.api.tables.CreatedTable",
    "localcdap.api.tables.Order": "localcdap.api.tables.SortField",
    "localcdap.testing.GivenTable": "localcdap.testing.TableData",
}
"""New paths by old ones: of modules, of packages with all of their modules, and of names in modules."""
_ROOT: Final = "localcdap."
_IMPORT_SYSTEM: Final = frozenset(
    (
        __name__,
        "importlib",
        "importlib._bootstrap",
        "importlib._bootstrap_external",
        "localcdap.artifacts.loading",  # whose function of imports stands between an artifact and Python's
    )
)
"""The modules whose frames stand between the author's import statement and this module."""


class MovedUse(NamedTuple):
    """A line of code that uses an old path."""

    old: str
    new: str
    file: str
    line: int


_uses: Final[dict[MovedUse, None]] = {}


def list_uses() -> list[MovedUse]:
    """Return the lines that have used old paths in this process, in the order of their first use."""
    return list(_uses)


def find_new_path(path: str) -> str | None:
    """Return the new path of a moved module or name, or of one in a moved package; None for any other."""
    ancestor = path
    while ancestor:
        if ancestor in MOVED:
            return MOVED[ancestor] + path[len(ancestor) :]
        ancestor = ancestor.rpartition(".")[0]
    return None


def build_getattr(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module (PEP 562) that still answers its old names.

    >>> __getattr__ = build_getattr(__name__)
    """
    return partial(get_moved_name, module)


def get_moved_name(module: str, name: str) -> Any:
    """Return what an old name of a module stands for.

    :raises AttributeError: when the module never had that name.
    """
    old = f"{module}.{name}"
    if old not in MOVED:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    new = MOVED[old]
    _warn(old, new)
    new_module, _, new_name = new.rpartition(".")
    return getattr(importlib.import_module(new_module), new_name)


def report_import(name: str, names: Iterable[str]) -> None:
    """Warn of an import of moved modules that are loaded already, for which Python asks no finder any more.

    :param name: the module of an import statement.
    :param names: those that the statement imports from it.
    """
    for path in (name, *(f"{name}.{imported}" for imported in names)):
        new = find_new_path(path)
        if new is not None and path in sys.modules:
            _warn(path, new, again=False)


def install() -> None:
    """Have Python find moved modules under their old paths; repeated calls change nothing."""
    if not any(isinstance(finder, MovedModuleFinder) for finder in sys.meta_path):
        # Before Python's own finders: below a moved package they would load its modules a second time.
        sys.meta_path.insert(0, MovedModuleFinder())


class MovedModuleFinder:
    """Finds moved modules: an old path gives the very module of the new path.

    It is also their loader, without extending ``importlib.abc.Loader``: importing that module takes 36 ms.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a moved module, or of a package that only moved modules had; else None."""
        del target
        if not name.startswith(_ROOT):
            return None
        if find_new_path(name) is None and not self._is_left_package(name, path):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Let the import system create an empty module."""
        del spec
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module of the new path in the place of the empty one."""
        new = find_new_path(module.__name__)
        if new is not None:
            _warn(module.__name__, new)
            sys.modules[module.__name__] = importlib.import_module(new)

    def _is_left_package(self, name: str, path: Sequence[str] | None) -> bool:
        if not any(old.startswith(f"{name}.") for old in MOVED):
            return False
        return importlib.machinery.PathFinder.find_spec(name, path) is None


def _warn(old: str, new: str, *, again: bool = True) -> None:
    """Warn of an old path at the line that uses it.

    :param again: whether to warn also when that line has been warned of.
    """
    frame = _find_user_frame()
    use = MovedUse(old, new, frame.f_code.co_filename, frame.f_lineno)
    if use in _uses and not again:
        return
    _uses[use] = None
    warnings.warn_explicit(
        f"{old} has moved and will not be found in the next version; use {new}.",
        DeprecationWarning,
        use.file,
        use.line,
        str(frame.f_globals.get("__name__", "<unknown>")),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )


def _find_user_frame() -> FrameType:
    """Return the innermost frame that is not of the import system; the outermost when all are."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _IMPORT_SYSTEM:
        frame = frame.f_back
    return frame
