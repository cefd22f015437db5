"""Directives by example: which of the proposals give the wanted texts, and how many rows they suit."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from localcdap.api.directive.rows import Columns
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.values.by_example import Proposal, propose
from localcdap.plugin_lib.wrangler.workspaces.engine import WorkspaceEngine
from localcdap.plugin_lib.wrangler.workspaces.tables import MISSING, Column
from localcdap.workspace_views import CandidateList, DirectiveCandidate, ExampleResult

_TRIED: Final = 300
"""The most frequent texts on which proposals are tried."""
_MOST: Final = 12
_SECONDS: Final = 3.0
"""How long all proposals may take; those that cost least come first."""


class Example(msgspec.Struct, frozen=True):
    """What is wanted of a text."""

    text: str
    wanted: list[str]
    """One text, or the parts into which it is split."""


def find_candidates(name: str, column: Column, examples: Sequence[Example]) -> CandidateList:
    """Return directives that make the wanted texts of a column.

    :param name: of the column.
    """
    counts = Counter(each for each in column.values if isinstance(each, str))
    frequent = [text for text, _ in counts.most_common(_TRIED)]
    texts = list(dict.fromkeys([*(each.text for each in examples), *frequent]))
    until = time.monotonic() + _SECONDS
    found: dict[tuple[Any, ...], tuple[int, DirectiveCandidate]] = {}
    made_by: dict[int, list[list[str | None]]] = {}
    for proposal in _list_proposals(name, examples):
        if time.monotonic() > until:
            break
        made = _try(name, proposal, texts, examples)
        if made is None:
            continue
        key = (proposal.columns, *map(tuple, made))
        if key not in found:  # a plainer one does the same
            candidate = _rate(name, proposal, texts, made, counts)
            made_by[id(candidate)] = made
            found[key] = (proposal.cost, candidate)
    ordered = sorted(found.values(), key=lambda each: (-each[1].rows, each[1].lost, each[0]))
    best = [candidate for _, candidate in ordered[:_MOST]]
    question = _find_question(texts, [made_by[id(each)] for each in best[:6]], examples)
    return CandidateList(candidates=best, question=question)


def _list_proposals(name: str, examples: Sequence[Example]) -> list[Proposal]:
    """Return what the examples suggest, the plainest first."""
    found = {
        each.directives: each
        for example in examples
        for each in propose(name, example.text, example.wanted)
    }
    return sorted(found.values(), key=lambda each: each.cost)


def _try(
    name: str, proposal: Proposal, texts: Sequence[str], examples: Sequence[Example]
) -> list[list[str | None]] | None:
    """Return what a proposal makes of texts; None unless it gives what the examples want."""
    recipe = load_recipe("\n".join(proposal.directives))
    if recipe.errors:
        return None
    for tried in (texts[: len(examples)], texts):  # most fail at the first
        engine = WorkspaceEngine([{name: text} for text in tried], Columns([(name, None)]))
        engine.run(recipe, _SECONDS)
        table = engine.get_table()
        made: list[list[str | None]] = [[None] * len(proposal.columns) for _ in tried]
        for place, column in enumerate(proposal.columns):
            values = table.columns[column].values if column in table.columns else ()
            for record, value in zip(table.origins, values, strict=False):
                made[record][place] = None if value is None or value is MISSING else str(value)
        if any(made[n] != list(each.wanted) for n, each in enumerate(examples)):
            return None
    return made


def _rate(
    name: str,
    proposal: Proposal,
    texts: Sequence[str],
    made: Sequence[list[str | None]],
    counts: Counter[str],
) -> DirectiveCandidate:
    suits = [
        all(each not in (None, "") for each in parts) and (len(parts) > 1 or parts[0] != text)
        for text, parts in zip(texts, made, strict=True)
    ]
    tried = sum(counts[text] for text in texts)
    rows = sum(counts[text] for text, is_suited in zip(texts, suits, strict=True) if is_suited)
    total = counts.total()
    rows = rows if tried == total else round(rows / max(1, tried) * total)
    order = sorted(range(len(texts)), key=suits.__getitem__)
    shown = dict.fromkeys([*range(min(3, len(texts))), *order[:2]])
    lost = sum(None in parts for parts in made) if proposal.columns == (name,) else 0
    results = [ExampleResult(texts[n], made[n]) for n in shown]
    return DirectiveCandidate(
        proposal.label,
        list(proposal.directives),
        list(proposal.columns),
        rows,
        total,
        lost,
        results,
    )


def _find_question(
    texts: Sequence[str], made: Sequence[list[list[str | None]]], examples: Sequence[Example]
) -> str | None:
    for n, text in enumerate(texts[len(examples) :], len(examples)):
        results = {tuple(each[n]) for each in made}
        if len(results) > 1 or any(None in each for each in results):
            return text
    return None
