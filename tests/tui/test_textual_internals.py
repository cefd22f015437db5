"""The private parts of Textual are as the studio expects; the stylesheet parses each source once."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.cache import LRUCache
from textual.containers import Horizontal, Vertical
from textual.css import stylesheet as textual_stylesheet
from textual.css.stylesheet import Stylesheet, StylesheetParseError
from textual.events import Key, MouseDown
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import DataTable, Input, OptionList, Static, TextArea
from textual_autocomplete import AutoComplete

from localcdap.tui.textual_internals.app import CachedStylesheet, InternalsApp, RefreshedScreen
from localcdap.tui.textual_internals.text_area import HighlightedTextArea

_SOURCES = 100
"""More than Textual's own keeps."""


@pytest.fixture
def parsed(monkeypatch):
    """The texts that were parsed, in order."""
    texts = []
    parse = textual_stylesheet.parse  # type: ignore[attr-defined]

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


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (App, ("_handle_exception", "_fatal_error", "_close_messages_no_wait", "_prune")),
        (App, ("_check_action_state",)),
        (Stylesheet, ("set_variables", "parse", "replace_rules", "_process_component_classes")),
        (OptionList, ("_move_page",)),
        (
            TextArea,
            ("_get_builtin_highlight_query", "_set_document", "_build_highlight_map"),
        ),
        (AutoComplete, ("_align_to_target", "_rebuild_options", "_get_target_state")),
    ],
)
def test_the_private_methods_that_the_studio_overrides_or_calls_are_there(owner, names):
    assert [name for name in names if not callable(getattr(owner, name, None))] == []


def test_the_signatures_of_the_overridden_methods_are_the_known_ones():
    found = {
        f"{owner.__name__}.{name}": list(inspect.signature(getattr(owner, name)).parameters)
        for owner, name in (
            (App, "_prune"),
            (App, "_handle_exception"),
            (App, "_check_action_state"),
            (Screen, "_invoke_and_clear_callbacks"),
            (Screen, "_invoke_later"),
            (Stylesheet, "apply"),
            (AwaitRemove, "__init__"),
            (OptionList, "_move_page"),
            (TextArea, "_set_document"),
            (TextArea, "_get_builtin_highlight_query"),
            (AutoComplete, "_rebuild_options"),
        )
    }

    assert found == {
        "App._prune": ["self", "nodes", "parent"],
        "App._handle_exception": ["self", "error"],
        "App._check_action_state": ["self", "action", "default_namespace"],
        "Screen._invoke_and_clear_callbacks": ["self"],
        "Screen._invoke_later": ["self", "callback", "sender"],
        "Stylesheet.apply": ["self", "node", "animate", "cache"],
        "AwaitRemove.__init__": ["self", "tasks", "post_remove"],
        "OptionList._move_page": ["self", "direction"],
        "TextArea._set_document": ["self", "text", "language"],
        "TextArea._get_builtin_highlight_query": ["language_name"],
        "AutoComplete._rebuild_options": ["self", "target_state", "search_string"],
    }


async def test_the_private_attributes_that_the_studio_reads_are_there():
    app = App()
    async with app.run_test() as pilot:
        area, listed = TextArea("x = 1", language="python"), OptionList("one")
        await app.mount(area, listed)
        await pilot.pause()

        assert app._screen_stacks[app.current_mode][0] is app.screen
        assert app._driver is not None
        assert area._pruning is False
        assert area._bindings.key_to_bindings
        assert isinstance(area._highlights, dict)
        assert hasattr(area, "_highlight_query")
        assert listed._lines
        assert isinstance(Stylesheet()._parse_cache, LRUCache)
        removal = listed.remove()
        assert isinstance(removal._tasks, list)
        assert hasattr(removal, "_post_remove")
        await removal


def test_a_strip_has_the_caches_of_textual_once_they_are_used():
    """In another process: the studio of another test has replaced the constructor in this one."""
    script = """
from rich.segment import Segment
from textual.strip import Strip
from localcdap.tui.textual_internals.strips import install_lazy_caches
names = [name for name in Strip.__slots__ if not name.endswith('__')]
def describe(strip):
    return {n: getattr(getattr(strip, n), '_maxsize', getattr(strip, n)) for n in names}
theirs = describe(Strip([], 0))
install_lazy_caches()
assert describe(Strip([], 0)) == theirs
strip = Strip([Segment("abc")], 3)
assert strip.crop(1, 2) is strip.crop(1, 2)
assert not hasattr(strip, '_no_such_cache')
"""
    subprocess.run([sys.executable, "-c", script], check=True)


async def test_a_key_that_comes_while_the_app_closes_has_no_effect():
    app = InternalsApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        screens = app._screen_stacks[app.current_mode]
        open_screens = list(screens)
        screens.clear()  # as when the app closes: its screens go first, then its messages end

        await app.on_event(Key("a", "a"))

        screens.extend(open_screens)
    assert app.fault is None


async def test_a_click_on_what_was_just_removed_has_no_effect():
    app = InternalsApp()
    async with app.run_test() as pilot:
        shown = Static("here")
        await app.mount(shown)
        await pilot.pause()
        parent = shown.parent
        assert parent is not None
        shown._detach()  # as one that is removed, while the screen is not drawn again yet
        assert app.screen.get_widget_and_offset_at(1, 0)[0] is shown

        await app.on_event(
            MouseDown(None, 1, 0, 0, 0, 1, False, False, False, screen_x=1, screen_y=0)
        )

        shown._attach(parent)
        assert app.fault is None


async def test_a_callback_after_a_refresh_ends_with_its_widget():
    app = InternalsApp()
    async with app.run_test() as pilot:
        screen = RefreshedScreen[None]()
        await app.push_screen(screen)
        kept, removed = Static("kept"), Vertical(Static("child", id="child"))
        await screen.mount(kept, removed)
        await pilot.pause()
        called = []

        await removed.remove()  # as of a dialog that closes after it was given another size
        screen._invoke_later(lambda: removed.query_one("#child").refresh(), removed)
        screen._invoke_later(lambda: called.append("kept"), kept)
        while not called and app.fault is None:
            await pilot.pause()

        assert not removed.children
        assert not screen._callbacks
    assert app.fault is None


async def test_an_area_without_styles_is_blank():
    class Areas(App):
        def compose(self):
            yield HighlightedTextArea("text")

    app = Areas()
    async with app.run_test():
        area = app.query_one(HighlightedTextArea)
        crop = Region(0, 0, 10, 2)
        assert any("text" in strip.text for strip in area.render_lines(crop))
        area._component_styles.clear()
        assert [strip.text for strip in area.render_lines(crop)] == [" " * 10] * 2


class Styled(InternalsApp):
    CSS = """
    .outer Input { margin: 1; }
    .outer > Horizontal Static.marked { color: red; }
    #form:disabled Static { color: blue; }
    Input:focus { color: green; }
    Horizontal:hover Static { background: yellow; }
    """

    def compose(self):
        with Vertical(id="form"), Horizontal():
            yield Input()
            yield Static("one", classes="marked")
            yield DataTable()


async def test_the_styles_are_those_of_textual_whatever_changes():
    app = Styled()
    async with app.run_test() as pilot:
        form, row = app.query_one("#form"), app.query_one(Horizontal)
        for change in (
            lambda: None,
            lambda: form.add_class("outer"),
            lambda: app.set_focus(None),
            lambda: setattr(form, "disabled", True),
            lambda: setattr(app, "theme", "textual-light"),
            lambda: setattr(row, "mouse_hover", True),
            lambda: form.mount(Static("two", classes="marked"), Input()),
            lambda: row.mount(Static("three", classes="marked"), Input()),
            lambda: form.remove_class("outer"),
            lambda: setattr(form, "disabled", False),
        ):
            change()
            await pilot.pause()
            app.stylesheet.update(app.screen)
            textual = app.stylesheet.copy()
            textual.parse()
            for node in app.screen.walk_children():
                cached = read_styles(node)
                node.styles.base.reset()
                node._component_styles.clear()
                textual.apply(node)
                assert read_styles(node) == cached


def read_styles(node):
    parts = {name: read_rules(part) for name, part in node._component_styles.items()}
    return read_rules(node.styles), parts, node._has_hover_style, node._has_focus_within


def read_rules(styles):
    """The rules of styles, with the name of the layout: each node has a layout of its own."""
    rules = styles.base.get_rules()
    return {**rules, "layout": rules["layout"].name} if "layout" in rules else rules


async def test_a_node_that_is_styled_again_keeps_its_parts_and_a_new_one_has_its_own_layout():
    app = Styled()
    async with app.run_test() as pilot:
        form, table = app.query_one("#form"), app.query_one(DataTable)
        layouts = [each.layout for each in app.query(Horizontal)]
        for _ in range(2):
            new = Horizontal()
            await form.mount(new)
            layouts.append(new.layout)
        header = table._component_styles["datatable--header"]
        background = table.get_component_rich_style("datatable--header").bgcolor

        app.theme = "textual-light"
        await pilot.pause()

        assert len({id(layout) for layout in layouts}) == 3
        assert table._component_styles["datatable--header"] is header
        assert table.get_component_rich_style("datatable--header").bgcolor != background
