"""Selectors of the style sheets name widgets that exist: Textual ignores one that matches nothing."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from textual.app import App
from textual.css.model import SelectorType
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

import localcdap.tui
from tests.quality.source_tree import REPOSITORY

VARIABLES = App().get_css_variables()


def list_types(css: str) -> set[str]:
    """Names of the types in the selectors of a style sheet."""
    sheet = Stylesheet(variables=VARIABLES)
    sheet.add_source(css)
    sets = (selectors for rule in sheet.rules for selectors in rule.selector_set)
    return {s.name for each in sets for s in each.selectors if s.type is SelectorType.TYPE}


def walk_classes(node: type[DOMNode]) -> Iterator[type[DOMNode]]:
    yield node
    for each in node.__subclasses__():
        yield from walk_classes(each)


@pytest.fixture(scope="module")
def classes() -> set[type[DOMNode]]:
    """The widgets, screens and apps of the studio, and those of Textual that it imports."""
    for module in pkgutil.walk_packages(localcdap.tui.__path__, "localcdap.tui."):
        importlib.import_module(module.name)
    return set(walk_classes(DOMNode))


def test_default_styles_name_existing_widgets(classes):
    names = {each.__name__ for each in classes}
    found = {
        each.__qualname__: sorted(unknown)
        for each in classes
        if each.__module__.startswith("localcdap.")
        and (unknown := list_types(each.__dict__.get("DEFAULT_CSS", "")) - names)
    }

    assert found == {}


def test_style_files_name_existing_widgets(classes):
    names = {each.__name__ for each in classes}
    files = sorted((REPOSITORY / "localcdap").rglob("*.tcss"))
    found = {
        path.name: sorted(unknown)
        for path in files
        if (unknown := list_types(path.read_text("utf-8")) - names)
    }

    assert files
    assert found == {}
