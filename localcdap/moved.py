"""Old names of the public interface, which work for one more version with a DeprecationWarning."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Final


def build_getattr(module: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module (PEP 562) that still answers old names.

    >>> __getattr__ = build_getattr(__name__, {"OldName": "NewName"})

    :param module: the name of the module that has the new names.
    :param renamed: new names by old names.
    """

    def get_renamed(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        warn_deprecated(f"{module}.{name}", f"{module}.{renamed[name]}")
        return getattr(sys.modules[module], renamed[name])

    return get_renamed


class MovedModules:
    """A finder for ``sys.meta_path`` that imports moved modules under their old names.

    It comes last there, so it is only asked for modules that no other finder finds. It is also their loader,
    without extending ``importlib.abc.Loader``: importing that module takes 36 ms.

    :param moved: new module names by old module names.
    """

    def __init__(self, moved: Mapping[str, str]) -> None:
        self._moved: Final = dict(moved)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a moved module; None for any other module."""
        del path, target
        if name not in self._moved:
            return None
        return importlib.machinery.ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Let the import system create an empty module."""
        del spec
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Make the attributes of the new module those of the old one."""
        new = self._moved[module.__name__]
        warn_deprecated(module.__name__, new)
        module.__getattr__ = partial(getattr, importlib.import_module(new))  # type: ignore[method-assign]


def warn_deprecated(old: str, new: str) -> None:
    """Warn that an old name was used, at the line that called the caller of this function."""
    message = f"{old} is deprecated and will be removed in the next version; use {new}."
    warnings.warn(message, DeprecationWarning, stacklevel=3)
