"""Directives by example: which of the proposals give the wanted texts, and how many rows they suit.

The proposals are many and cheap; who asks for them runs them on the examples and on the data, and keeps what
gives the wanted texts.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from localcdap.api.directive.rows import Columns
from localcdap.java.dates.simple_date_format import format_simple_date, parse_simple_date
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
from localcdap.plugin_lib.wrangler.values.date_forms import DATE_FORMS, DAYS
from localcdap.plugin_lib.wrangler.workspaces.engine import WorkspaceEngine
from localcdap.plugin_lib.wrangler.workspaces.tables import MISSING, Column
from localcdap.workspace_views import CandidateList, DirectiveCandidate, ExampleResult

_TOKEN: Final = re.compile(r"[^\W\d_]+|\d+")
_CLASSES: Final = (
    (re.compile(r"\d+"), r"\d", "digits"),
    (re.compile(r"[A-Z]+"), "[A-Z]", "capital letters"),
    (re.compile(r"[^\W\d_]+"), r"\p{L}", "letters"),
    (re.compile(r"\w+"), r"\w", "letters and digits"),
)
"""Patterns of texts, the class of Java's expressions for each of their characters, and what it is called."""
_FULL_YEAR: Final = re.compile("(19|20)[0-9]{2}")
_SINGLE: Final = re.compile(r"\b([0-9])\b")
_LONGEST: Final = 300
"""Characters of an example from which proposals are made."""


class Proposal(msgspec.Struct, frozen=True):
    """Directives, and what they do.

    :param columns: those that the directives fill with the wanted texts.
    :param cost: orders proposals that suit equally many values; a plain one costs least.
    """

    label: str
    directives: tuple[str, ...]
    columns: tuple[str, ...]
    cost: int


def propose(column: str, text: str, wanted: Sequence[str]) -> Iterator[Proposal]:
    """Yield what may turn a text into the wanted ones.

    :param wanted: one text, or the parts into which the text is to be split.
    """
    if len(text) > _LONGEST or not any(wanted):
        return
    if len(wanted) > 1:
        yield from _propose_splits(column, text, wanted)
        return
    yield from _propose_edits(column, text, wanted[0])
    yield from _propose_dates(column, text, wanted[0])
    yield from _propose_parts(column, text, wanted[0])
    yield from _propose_arrangements(column, text, wanted[0])


# -- changes of the whole text ----------------------------------------------------------------------


def _propose_edits(column: str, text: str, wanted: str) -> Iterator[Proposal]:
    plain = (
        ("Trim blanks", "trim", text.strip()),
        ("lowercase", "lowercase", text.lower()),
        ("UPPERCASE", "uppercase", text.upper()),
        ("Title Case", "titlecase", text.title()),
    )
    for label, name, result in plain:
        if result == wanted:
            yield Proposal(label, (f"{name} :{column}",), (column,), 10)
        if result.strip() == wanted and name != "trim":
            directives = (f"trim :{column}", f"{name} :{column}")
            yield Proposal(f"Trim and {label}", directives, (column,), 14)
    for label, kept in (("digits and the point", "0-9."), ("digits", "0-9")):
        yield from _replace(column, f"Keep {label}", f"[^{kept}]", "", 12)
    yield from _replace(column, "Keep a number", "[^0-9.-]", "", 13)
    gone = "".join(sorted(set(text) - set(wanted)))
    if gone and "".join(each for each in text if each not in gone) == wanted:
        yield from _replace(column, f"Drop ‹{gone}›", f"[{_escape(gone)}]", "", 15)
    yield from _propose_replacement(column, text, wanted)


def _propose_replacement(column: str, text: str, wanted: str) -> Iterator[Proposal]:
    """Yield the replacement of the part in which two texts differ, and what stands before or after it."""
    start = 0
    while start < min(len(text), len(wanted)) and text[start] == wanted[start]:
        start += 1
    end = 0
    while end < min(len(text), len(wanted)) - start and text[-1 - end] == wanted[-1 - end]:
        end += 1
    old, new = text[start : len(text) - end], wanted[start : len(wanted) - end]
    if old:
        yield from _replace(
            column, f"Replace ‹{old}› by ‹{new}›", _escape(old), _escape_replacement(new), 40
        )
    elif new and start == 0:
        yield from _replace(column, f"Put ‹{new}› before", "^", _escape_replacement(new), 30)
    elif new and end == 0:
        yield from _replace(column, f"Put ‹{new}› after", "$", _escape_replacement(new), 30)


def _replace(
    column: str, label: str, pattern: str, replacement: str, cost: int
) -> Iterator[Proposal]:
    mark = next((each for each in "/#|~" if each not in pattern + replacement), None)
    script = f"s{mark}{pattern}{mark}{replacement}{mark}g"
    if mark is not None and "'" not in script and "${" not in script:
        yield Proposal(label, (f"find-and-replace :{column} '{script}'",), (column,), cost)


def _propose_dates(column: str, text: str, wanted: str) -> Iterator[Proposal]:
    """Yield the formats in which the text is one date, and the wanted one the same date."""
    for given in DATE_FORMS[:DAYS]:
        try:
            moment = parse_simple_date(text, given)
            if format_simple_date(moment, given) != text:
                continue
        except ValueError:
            continue
        for made in DATE_FORMS:
            if made == given or format_simple_date(moment, made) != wanted:
                continue
            directives = (
                f'parse-as-simple-date :{column} "{given}"',
                f'format-date :{column} "{made}"',
            )
            yield Proposal(f"{given} becomes {made}", directives, (column,), 20)


# -- parts of the text ------------------------------------------------------------------------------


def _propose_parts(column: str, text: str, wanted: str) -> Iterator[Proposal]:
    """Yield what takes a part of the text into a column of its own."""
    into = f"{column}_part"
    if "@" in text and wanted in text.split("@"):
        kept, dropped = (
            ("domain", "account") if text.endswith(f"@{wanted}") else ("account", "domain")
        )
        directives = (
            f"split-email :{column}",
            f"drop :{column}_{dropped}",
            f"rename :{column}_{kept} :{into}",
        )
        yield Proposal(f"The {kept} of a mail address", directives, (into,), 5)
    start = text.find(wanted)
    while start >= 0:
        for label, pattern, cost in _list_patterns(text, wanted, start):
            yield from _extract(column, label, pattern, (into,), cost)
        first, last = start + 1, start + len(wanted)
        positions = f"{first}-{last}" if last < len(text) else f"{first}-"
        cut = f"cut-character :{column} :{into} {positions}"
        yield Proposal(f"Characters {positions}", (cut,), (into,), 35)
        start = text.find(wanted, start + 1)


def _list_patterns(text: str, wanted: str, start: int) -> Iterator[tuple[str, str, int]]:
    """Yield patterns that find the wanted text in the text, with what they say and cost."""
    before, after = text[:start], text[start + len(wanted) :]
    for body, name, body_cost in _list_bodies(wanted, after):
        if before and body_cost < 20:
            first = re.search(body.replace(r"\p{L}", r"[^\W\d_]"), text)
            if first is not None and first[0] == wanted and first.start() == start:
                yield f"The first {name}", f"^.*?({body}).*$", 15 + body_cost
        if not before:
            yield f"The {name} at the beginning", f"^({body}).*$", 10 + body_cost
        if not after:
            yield f"The {name} at the end", f"^.*?({body})$", 11 + body_cost
        if before:
            mark = _escape(before[-1])
            if before.count(before[-1]) == 1:
                label = f"The {name} after ‹{before[-1]}›"
                yield label, f"^[^{mark}]*{mark}({body}).*$", 12 + body_cost
            else:
                count = before.count(before[-1])
                label = f"The {name} after the {count}. ‹{before[-1]}›"
                yield label, f"^(?:[^{mark}]*{mark}){{{count}}}({body}).*$", 16 + body_cost
            if len(before) > 1 and not before[-2].isalnum():
                pair = _escape(before[-2:])
                yield f"The {name} after ‹{before[-2:]}›", f"^.*?{pair}({body}).*$", 14 + body_cost


def _list_bodies(wanted: str, after: str) -> Iterator[tuple[str, str, int]]:
    """Yield patterns for a text, with what they find and how they cost."""
    if after and after[0] not in wanted:
        yield f"[^{_escape(after[0])}]+", f"text before ‹{after[0]}›", 1
    elif not after:
        yield ".+", "text", 2
    for known, kind, name in _CLASSES:
        if known.fullmatch(wanted):
            yield f"{kind}+", name, 3
            yield f"{kind}{{{len(wanted)}}}", f"{len(wanted)} {name}", 8
            break
    else:
        yield _generalize(wanted), "text of this form", 10


def _generalize(text: str) -> str:
    r"""Return a pattern for texts of the same form: ``\p{L}+ \d+`` for ``Route 66``."""
    found, end = "", 0
    for token in _TOKEN.finditer(text):
        found += _escape(text[end : token.start()]) + _classify(token[0])
        end = token.end()
    return found + _escape(text[end:])


def _classify(token: str) -> str:
    return r"\d+" if token.isdecimal() else r"\p{L}+"


def _extract(
    column: str, label: str, pattern: str, into: Sequence[str], cost: int
) -> Iterator[Proposal]:
    if "'" in pattern or "${" in pattern:
        return
    renames = [f"rename :{column}_1_{n} :{name}" for n, name in enumerate(into, 1)]
    directives = (f"extract-regex-groups :{column} '{pattern}'", *renames)
    yield Proposal(label, directives, tuple(into), cost)


# -- several texts ----------------------------------------------------------------------------------


def _propose_arrangements(column: str, text: str, wanted: str) -> Iterator[Proposal]:
    """Yield what puts words and numbers of the text into another order, with other signs between them."""
    yield from _arrange(column, text, wanted)
    padded = _SINGLE.sub(r"0\1", text)
    if padded != text:
        for each in _arrange(column, padded, wanted):
            pad = f"find-and-replace :{column} 's/\\b([0-9])\\b/0$1/g'"
            label = f"{each.label}, with two digits"
            yield Proposal(label, (pad, *each.directives), each.columns, each.cost + 3)


def _arrange(column: str, text: str, wanted: str) -> Iterator[Proposal]:
    tokens = list(_TOKEN.finditer(text))
    if len(tokens) < 2:
        return
    replacement, end, used = "", 0, 0
    for token in _TOKEN.finditer(wanted):
        part = _refer(token[0], [each[0] for each in tokens])
        if part is None and token[0].isdecimal():
            return  # it would be the same number in each row
        used += part is not None
        replacement += _escape_replacement(wanted[end : token.start()]) + (
            part or _escape_replacement(token[0])
        )
        end = token.end()
    if not used:
        return
    pattern, last = "^", 0
    for each in tokens:
        pattern += f"{_escape(text[last : each.start()])}({_classify(each[0])})"
        last = each.end()
    pattern += _escape(text[last:]) + "$"
    label = "Put the parts into this order"
    yield from _replace(column, label, pattern, replacement + _escape_replacement(wanted[end:]), 25)


def _refer(token: str, tokens: Sequence[str]) -> str | None:
    """Return the reference to a part of a text, also to a year without its century; None without any."""
    if token in tokens:
        return f"${tokens.index(token) + 1}"
    if _FULL_YEAR.fullmatch(token) and token[2:] in tokens:
        return f"{token[:2]}${tokens.index(token[2:]) + 1}"
    return None


def _propose_splits(column: str, text: str, parts: Sequence[str]) -> Iterator[Proposal]:
    numbered = tuple(f"{column}_{n}" for n in range(1, len(parts) + 1))
    between = _find_between(text, parts)
    if between is None:
        return
    marks = set(between)
    if len(parts) == 2 and marks == {"@"}:
        columns = (f"{column}_account", f"{column}_domain")
        yield Proposal("Split a mail address", (f"split-email :{column}",), columns, 5)
    if len(marks) == 1 and (mark := between[0]):
        patterns = {_escape(mark): f"Split at ‹{mark}›"}
        if mark.strip() and mark != mark.strip():
            patterns[rf"\s*{_escape(mark.strip())}\s*"] = f"Split at ‹{mark.strip()}› with blanks"
        elif not mark.strip():
            patterns[r"\s+"] = "Split at blanks"
        for cost, (pattern, label) in enumerate(patterns.items(), 8):
            if "'" not in pattern:
                directive = f"split-to-columns :{column} '{pattern}'"
                yield Proposal(label, (directive,), numbered, cost)
    bodies = [_generalize(each) for each in parts]
    pattern = "^" + "".join(
        f"({body}){_escape(sign)}" for body, sign in zip(bodies, [*between, ""], strict=True)
    )
    label = "Split texts of this form"
    yield from _extract(column, label, f"{pattern}$", numbered, 20)
    start, cuts = 0, []
    for name, part in zip(numbered, parts, strict=True):
        start = text.index(part, start)
        end = start + len(part)
        positions = f"{start + 1}-{end}" if end < len(text) else f"{start + 1}-"
        cuts.append(f"cut-character :{column} :{name} {positions}")
        start = end
    yield Proposal("Split at these positions", tuple(cuts), numbered, 30)


def _find_between(text: str, parts: Sequence[str]) -> list[str] | None:
    """Return what stands between the parts of a text; None when they do not make up the text."""
    found, start = [], 0
    for number, part in enumerate(parts):
        place = text.find(part, start) if part else -1
        if place < 0 or (number == 0 and text[:place].strip()):
            return None
        if number:
            found.append(text[start:place])
        start = place + len(part)
    return None if text[start:].strip() else found


def _escape(text: str) -> str:
    return re.sub(r"([^\w ])", r"\\\1", text)


def _escape_replacement(text: str) -> str:
    """Return a text as a replacement that means it."""
    return re.sub(r"([\\$])", r"\\\1", text)


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
