"""Private parts of Textual around the app: widgets, errors, keys, the terminal, and its stylesheet.

The stylesheet caches the parsed rules of each source, and the rules that apply to a widget. A filter at
the edge of the studio sees to it that nothing that a widget paints can do anything to the terminal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.segment import Segment
from textual._callback import invoke
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.binding import Binding
from textual.cache import LRUCache
from textual.color import Color
from textual.css.model import RuleSet
from textual.css.query import NoMatches
from textual.css.styles import RulesMap, Styles
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.events import Event, InputEvent, MouseDown
from textual.filter import LineFilter
from textual.layout import Layout
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget
from textual.worker import WorkerFailed

from localcdap.api.errors import LocalcdapError
from localcdap.text import sanitize_for_terminal
from localcdap.tui.textual_internals.strips import install_lazy_caches

_SOURCES: Final = 1024
"""Sources whose rules are cached. Each widget class is one source; the studio has about 150."""
_THEMES: Final = 2
"""Themes whose rules are cached: the current one, and the default one that is active before it."""
_STYLES: Final = 2048
"""Positions in the tree of widgets whose rules are cached; then all are dropped."""

_Rules = LRUCache[tuple[object, ...], list[RuleSet]]
_Position: TypeAlias = tuple[tuple[RuleSet, ...], tuple[object, ...]]
_parsed: Final[LRUCache[frozenset[tuple[str, str]], _Rules]] = LRUCache(_THEMES)


class _AppliedRules(NamedTuple):
    """The rules that apply at a position in the tree of widgets."""

    rules: RulesMap
    checked: RulesMap | None
    """The same as a node has them when each was set: texts are parsed. None when no new node was there."""


_applied: Final[dict[_Position, _AppliedRules]] = {}


class _Candidates(NamedTuple):
    """The rules that have a selector for a type, a class or the id of a widget."""

    rules: tuple[RuleSet, ...]
    of_node: tuple[str, ...]
    """The pseudo-classes, sorted, that selectors of these rules name for the widget itself."""
    of_ancestors: tuple[str, ...]
    """Those that they name for widgets around it."""
    is_cacheable: bool
    """Whether what applies depends on the widget and its ancestors alone, not on its siblings or children."""

    def names(self, pseudo_class: str) -> bool:
        """Return whether a selector names a pseudo-class."""
        return pseudo_class in self.of_node or pseudo_class in self.of_ancestors


class CachedStylesheet(Stylesheet):
    """A stylesheet that caches the parsed rules of every source, and which of them apply where.

    Textual caches 64 sources and drops the oldest first. With more sources than that (each new widget class
    adds one) every lookup misses: all sources are parsed again, which takes longer than to show a dialog.
    It also matches the selectors of all rules again for each widget that is mounted, and for each part of it
    that has styles of its own: a third of the time in which a screen is opened.
    """

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _get_rules(self._variables)
        self._candidates: dict[frozenset[str], _Candidates] = {}
        self._candidates_of: list[RuleSet] | None = None
        self._order: dict[RuleSet, int] = {}

    def set_variables(self, variables: dict[str, str]) -> None:
        self._parse_cache = LRUCache(1)  # the method of the base class clears it
        super().set_variables(variables)
        self._parse_cache = _get_rules(variables)

    def reparse(self) -> None:
        """Parse all sources with the current variables; cached ones cost nothing."""
        self.parse()

    def apply(
        self,
        node: DOMNode,
        *,
        animate: bool = False,
        cache: dict[tuple[object, ...], RulesMap] | None = None,
    ) -> None:
        """Give a node the styles of the rules that apply to it.

        :param cache: that of Textual, which is valid for one update; unused.
        """
        candidates = self._list_candidates(node)
        if not candidates.is_cacheable:
            super().apply(node, animate=animate)
            return
        position = candidates.rules, _describe_position(node, candidates)
        applied = _applied.get(position)
        if applied is None:
            is_new = _is_new(node) and not animate
            results: dict[tuple[object, ...], RulesMap] = {}
            super().apply(node, animate=animate, cache=results)
            if len(_applied) >= _STYLES:
                _applied.clear()
            rules = next(iter(results.values()), RulesMap())
            checked = node.styles.base.get_rules() if is_new else None
            _applied[position] = _AppliedRules(rules, checked)
            return
        node._has_hover_style = candidates.names("hover")
        node._has_focus_within = node._has_order_style = node._has_odd_or_even = False
        if applied.rules:
            self._set_rules(node, applied, animate)
        self._process_component_classes(node)

    def _set_rules(self, node: DOMNode, applied: _AppliedRules, animate: bool) -> None:
        """Give a node the rules that a node at the same position was given before.

        A new node takes them over, and a node that has them keeps them. Textual would set one rule after the
        other, which checks the value and refreshes the node each time.
        """
        base, rules = node.styles.base, applied.checked
        if rules is not None and not animate and _is_new(node):
            base.merge_rules(rules)
            if "layout" in rules:
                base.clear_rule("layout")
                base.layout = rules["layout"].name  # a layout has a state: each node gets its own
        elif not _has_rules(base, applied.rules if rules is None else rules):
            self.replace_rules(node, applied.rules, animate=animate)
            return
        node.notify_style_update()  # the colours of its ancestors may be others

    def _process_component_classes(self, node: DOMNode) -> None:
        """Style the parts of a node that have styles of their own.

        Textual makes new nodes for these parts each time, and sets all rules of each. Here a part keeps its
        node, so that a part whose rules are the same costs no more than any other node.
        """
        styles = node._component_styles
        is_changed = False
        for component in _list_components(type(node)):
            known = styles.get(component)
            part = None if known is None else known.node
            if part is None:
                part = DOMNode(classes=component)
                part._attach(node)
            updates = part.styles._cache_key
            self.apply(part, animate=False)
            is_changed = is_changed or known is None or part.styles._cache_key != updates
            styles[component] = part.styles
        if is_changed:
            node.refresh()

    def _list_candidates(self, node: DOMNode) -> _Candidates:
        if self.rules is not self._candidates_of:
            self._candidates_of = self.rules
            self._order = {rule: number for number, rule in enumerate(self.rules)}
            self._candidates.clear()
        names = frozenset(node._selector_names)
        candidates = self._candidates.get(names)
        if candidates is None:
            named = {rule for name in names for rule in self.rules_map.get(name, ())}
            candidates = _find_pseudo_classes(tuple(sorted(named, key=self._order.__getitem__)))
            self._candidates[names] = candidates
        return candidates


@lru_cache(_SOURCES)
def _list_components(type: type[DOMNode]) -> tuple[str, ...]:
    return tuple(sorted(type._get_component_classes()))


def _is_new(node: DOMNode) -> bool:
    return not node._is_mounted and not node.styles.base._rules


def _has_rules(styles: Styles, rules: RulesMap) -> bool:
    """Return whether styles have these rules and no others, so that setting them would change nothing.

    Two nodes never share a layout, which may have a state; the name says what it is.
    """
    current: Mapping[str, Any] = styles._rules
    if current.keys() != rules.keys():
        return False
    return all(
        current[name] == value
        or (name == "layout" and isinstance(value, Layout) and current[name].name == value.name)
        for name, value in rules.items()
    )


def _get_rules(variables: Mapping[str, str]) -> _Rules:
    """Return the cache of the rules that were parsed with these variables."""
    key = frozenset(variables.items())
    rules = _parsed.get(key)
    if rules is None:
        rules = _parsed[key] = LRUCache(_SOURCES)
    return rules


@lru_cache(_STYLES)
def _find_pseudo_classes(rules: tuple[RuleSet, ...]) -> _Candidates:
    of_node: set[str] = set()
    of_ancestors: set[str] = set()
    for selector_set in (selector_set for rule in rules for selector_set in rule.selector_set):
        *others, last = selector_set.selectors
        of_node |= last.pseudo_classes
        is_of_node = True
        for selector in reversed(others):
            is_of_node = is_of_node and not selector.advance
            (of_node if is_of_node else of_ancestors).update(selector.pseudo_classes)
    unstable = CachedStylesheet._EXCLUDE_PSEUDO_CLASSES_FROM_CACHE
    is_cacheable = unstable.isdisjoint(of_node | of_ancestors)
    return _Candidates(rules, tuple(sorted(of_node)), tuple(sorted(of_ancestors)), is_cacheable)


def _describe_position(node: DOMNode, candidates: _Candidates) -> tuple[object, ...]:
    """Return what the selectors of these rules can depend on: a node, its ancestors and their states."""
    parts: list[object] = []
    part: object = node
    pseudo_classes = candidates.of_node
    while isinstance(part, DOMNode):
        parts += type(part), part._id, part.classes
        checks: Mapping[str, Callable[[Any], bool]] = part._PSEUDO_CLASSES
        for name in pseudo_classes:
            parts.append(name in checks and checks[name](part))
        pseudo_classes = candidates.of_ancestors
        part = part._parent
    return tuple(parts)


_REPLACEMENT: Final = "\ufffd"


class ControlFilter(LineFilter):
    """Replaces control and direction characters in the lines of all widgets; the lines keep their widths.

    Widgets that can make such characters readable do that themselves, see
    :func:`localcdap.text.sanitize_for_terminal`. This filter is for all others.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without such characters."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [
            segment
            if segment.control or segment.text.isprintable()
            else Segment(_replace_controls(segment.text), segment.style)
            for segment in segments
        ]


@lru_cache(1024)
def _replace_controls(text: str) -> str:
    return "".join(
        each
        if sanitize_for_terminal(each, single_line=True) == each
        else _REPLACEMENT * cell_len(each)
        for each in text
    )


class CancellableRemove(AwaitRemove):
    """The result of :meth:`Widget.remove` in the studio: waiting for it can be cancelled.

    When a worker that awaits Textual's own is cancelled, as an exclusive worker is, the tasks of the removed
    widgets are cancelled too. The app waits for these tasks and would end without a message. Here only the
    waiting is cancelled.
    """

    def __await__(self) -> Generator[None, None, None]:
        waiting = [task for task in self._tasks if task is not asyncio.current_task()]

        async def wait() -> None:
            if waiting:
                await asyncio.wait(waiting)
            if self._post_remove is not None:
                await invoke(self._post_remove)

        return wait().__await__()


class InternalsApp(App[None]):
    """An app with the studio's changes to Textual's private methods."""

    def __init__(self) -> None:
        install_lazy_caches()
        super().__init__()
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())
        self._control_filter: Final = ControlFilter()
        self.fault: Exception | None = None
        """The internal error that ended the app."""

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of all lines that widgets paint; the last one removes control characters."""
        return [*super().get_line_filters(), self._control_filter]

    def update_styles(self, node: DOMNode, animate: bool = True) -> None:
        """Style a node and its descendants again, unless it is not mounted yet.

        Textual styles a widget when it is mounted. It also does so for each class that a constructor adds:
        650 times, 2.5 ms each, when 25 forms are opened.
        """
        if node is self or node.is_dom_root or node.is_attached:
            super().update_styles(node, animate)

    def write_to_terminal(self, text: str) -> None:
        """Write a control sequence to the terminal."""
        if self._driver is not None:
            self._driver.write(text)

    def list_base_screens(self, modes: Iterable[str]) -> Iterator[Screen[Any]]:
        """Yield the lowest screen of each mode that was opened."""
        for mode in modes:
            yield from self._screen_stacks.get(mode, ())[:1]

    async def on_event(self, event: Event) -> None:
        """Handle an event; keys that are pressed while the app closes its last screen have no effect.

        Textual asks for the open screen first, and would end with its error that there is none. Nor has a
        click on what has been removed since the screen was drawn: Textual would fail to find its container.
        """
        if isinstance(event, InputEvent) and not self._screen_stacks.get(self._current_mode):
            return
        if isinstance(event, MouseDown) and self._is_on_removed(event):
            return
        await super().on_event(event)

    def _is_on_removed(self, event: MouseDown) -> bool:
        widget, _ = self.screen.get_widget_and_offset_at(event.x, event.y)
        return widget is not None and widget.parent is None

    def _handle_exception(self, error: Exception) -> None:
        """End the app in order on any error of a widget; the command reports it.

        An error of localcdap, such as that of a service that a worker of a widget called, is only reported.
        A widget that does not find another one while the whole screen is removed is not an error.
        """
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and not self.is_running:
            return
        if isinstance(error, WorkerFailed) and isinstance(cause, LocalcdapError):
            self.report_error(cause)
            return
        self.fault = self.fault or error
        super()._handle_exception(error)

    def report_error(self, error: Exception) -> None:
        """Called with an error that no caller handled; the app goes on."""

    def _fatal_error(self) -> None:
        """Close without Textual's traceback: the command prints the error."""
        self._close_messages_no_wait()

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        is_handled = await super()._check_bindings(key, priority)
        if not is_handled and not priority:
            found = self._find_disabled_binding(key)
            if found is not None:
                self.explain_key(*found)
        return is_handled

    def _find_disabled_binding(self, key: str) -> tuple[DOMNode, Binding] | None:
        """Return the binding that a key would have had an effect with, and its node.

        One that is shown as disabled comes before one that is hidden, the nearest to the focus first. A
        binding of Textual itself, which has no id, is none of them.
        """
        hidden = None
        for node, bindings in self.screen._modal_binding_chain:
            for binding in bindings.key_to_bindings.get(key, ()):
                if binding.id and binding.description:
                    if self._check_action_state(binding.action, node) is None:
                        return node, binding
                    hidden = hidden or (node, binding)
        return hidden

    def explain_key(self, node: DOMNode, binding: Binding) -> None:
        """Called when a key has no effect, because its action cannot be done now."""

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        removal = super()._prune(*nodes, parent=parent)
        return CancellableRemove(removal._tasks, removal._post_remove)


class RefreshedScreen(Screen[ScreenResultType]):
    """A screen on which a callback of ``call_after_refresh`` ends with the widget that asked for it.

    Textual calls it although the widget is being removed by then, and has none of its children any more.
    """

    async def _invoke_and_clear_callbacks(self) -> None:
        callbacks, self._callbacks[:] = self._callbacks[:], []
        for callback, sender in callbacks:
            if not (isinstance(sender, DOMNode) and sender._pruning):
                with sender._context():
                    await invoke(callback)


def is_usable(node: DOMNode | None) -> bool:
    """Return whether actions of a node may run: a widget must be mounted and not being removed."""
    return not (isinstance(node, Widget) and (node._pruning or not node.is_mounted))


def list_bindings(node: DOMNode) -> Iterator[Binding]:
    """Yield the bindings of a node itself, with the keys of the user's keymap."""
    for _, binding in node._bindings:
        yield binding


def check_action_state(app: App[Any], action: str, node: DOMNode) -> bool | None:
    """Return whether an action can be done: False hides it, None shows it as disabled."""
    return app._check_action_state(action, node)


def remove_bindings(node: DOMNode, keys: Iterable[str]) -> None:
    """Remove keys that a widget of Textual binds."""
    for key in keys:
        node._bindings.key_to_bindings.pop(key, None)
