"""The stylesheet parses each of its sources once."""

from __future__ import annotations

import pytest
from textual.css import stylesheet as textual_stylesheet
from textual.css.stylesheet import StylesheetParseError

from localcdap.tui.textual_internals import CachedStylesheet

_SOURCES = 100
"""More than Textual's own keeps."""


@pytest.fixture
def parsed(monkeypatch):
    """The texts that were parsed, in order."""
    texts = []
    parse = textual_stylesheet.parse

    def noted(scope, css, *rest, **more):
        texts.append(css)
        return parse(scope, css, *rest, **more)

    monkeypatch.setattr(textual_stylesheet, "parse", noted)
    return texts


def filled(variables):
    sheet = CachedStylesheet(variables=variables)
    for number in range(_SOURCES):
        sheet.add_source(f"W{number} {{ color: $tone; }}", read_from=("test", str(number)))
    return sheet


def colours(sheet):
    return {rule.styles.color.hex for rule in sheet.rules}


def test_another_kind_of_widget_has_only_its_own_rules_parsed(parsed):
    sheet = filled({"tone": "#010203"})
    sheet.parse()
    assert len(parsed) == _SOURCES
    sheet.add_source("Late { color: $tone; }", read_from=("test", "late"))
    sheet.parse()
    assert parsed[_SOURCES:] == ["Late { color: $tone; }"]
    assert len(sheet.rules) == _SOURCES + 1


def test_other_colours_are_in_force_at_once_and_the_first_come_back(parsed):
    sheet = filled({"tone": "#040506"})
    sheet.parse()
    assert colours(sheet) == {"#040506"}
    sheet.set_variables({"tone": "#070809"})
    sheet.reparse()
    assert colours(sheet) == {"#070809"}
    count = len(parsed)
    sheet.set_variables({"tone": "#040506"})
    sheet.reparse()
    assert colours(sheet) == {"#040506"}
    assert len(parsed) == count


def test_rules_are_left_as_they_were_when_new_ones_are_wrong():
    sheet = filled({"tone": "#0a0b0c"})
    sheet.parse()
    sheet.add_source("W { colour-of-nothing: 1; }", read_from=("test", "wrong"))
    with pytest.raises(StylesheetParseError):
        sheet.reparse()
    assert len(sheet._rules) == _SOURCES
