"""A stylesheet that caches the parsed rules of each source, and the rules that apply to a widget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

_SOURCES: Final = 1024
"""Sources whose rules are cached. Each widget class is one source; the studio has about 150."""
_THEMES: Final = 2
"""Themes whose rules are cached: the current one, and the default one that is active before it."""
_STYLES: Final = 2048
"""Positions in the tree of widgets whose rules are cached; then all are dropped."""

_Rules = LRUCache[tuple[object, ...], list[RuleSet]]
_Position: TypeAlias = tuple[tuple[RuleSet, ...], tuple[object, ...]]
_parsed: Final[LRUCache[frozenset[tuple[str, str]], _Rules]] = LRUCache(_THEMES)
_applied: Final[dict[_Position, RulesMap]] = {}


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
        rules = _applied.get(position)
        if rules is None:
            results: dict[tuple[object, ...], RulesMap] = {}
            super().apply(node, animate=animate, cache=results)
            if len(_applied) >= _STYLES:
                _applied.clear()
            _applied[position] = next(iter(results.values()), RulesMap())
            return
        node._has_hover_style = candidates.names("hover")
        node._has_focus_within = node._has_order_style = node._has_odd_or_even = False
        if rules:
            self.replace_rules(node, rules, animate=animate)
        self._process_component_classes(node)

    def _list_candidates(self, node: DOMNode) -> _Candidates:
        if self.rules is not self._candidates_of:
            self._candidates_of = self.rules
            self._candidates.clear()
        names = frozenset(node._selector_names)
        candidates = self._candidates.get(names)
        if candidates is None:
            named = {rule for name in names for rule in self.rules_map.get(name, ())}
            candidates = _find_pseudo_classes(tuple(rule for rule in self.rules if rule in named))
            self._candidates[names] = candidates
        return candidates


def _get_rules(variables: Mapping[str, str]) -> _Rules:
    """Return the cache of the rules that were parsed with these variables."""
    key = frozenset(variables.items())
    rules = _parsed.get(key)
    if rules is None:
        rules = _parsed[key] = LRUCache(_SOURCES)
    return rules


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
