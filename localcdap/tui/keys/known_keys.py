"""All keys that the studio has, on whatever screen: for a keymap that names them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from textual.binding import Binding
from textual.dom import DOMNode

import localcdap.tui as room


def known_keys() -> dict[str, Binding]:
    """The keys with an id, by id. Imports every module of the studio, so it takes its time."""
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        importlib.import_module(module.name)
    return {
        binding.id: binding
        for kind in _kinds(DOMNode)
        for binding in vars(kind).get("BINDINGS", ())
        if isinstance(binding, Binding) and binding.id and kind.__module__.startswith(room.__name__)
    }


def _kinds(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    yield kind
    for each in type.__subclasses__(kind):
        yield from _kinds(each)
