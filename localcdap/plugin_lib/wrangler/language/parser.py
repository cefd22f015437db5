"""Recipes read: ``parse`` makes calls of directives out of a text, and says everything that is wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from localcdap.api.directive.argument import Argument, ArgumentKind
from localcdap.plugin_lib.wrangler.language.binding import Bound, Mismatch, bind
from localcdap.plugin_lib.wrangler.language.grammar import (
    Statement,
    SyntaxProblemError,
    parse_statement,
)
from localcdap.plugin_lib.wrangler.language.legacy_syntax import (
    NAMES,
    RENAMED,
    Header,
    header,
    read_older,
)
from localcdap.plugin_lib.wrangler.language.model import Call, Code, Load, Problem, Recipe
from localcdap.plugin_lib.wrangler.language.splitter import Line, Piece, Places, lines_of, masked

Declared = Mapping[str, Sequence[Argument]]
"""The arguments of every directive by its name."""


class DirectiveRules(msgspec.Struct, frozen=True):
    """What a namespace allows (wrangler ``DirectiveConfig``): ``{"exclusions": […], "aliases": {…}}``."""

    exclusions: list[str] = []
    """Names of directives that recipes must not use."""
    aliases: dict[str, str] = {}
    """Names of directives by the further name that they have."""


NO_RULES: Final = DirectiveRules()
_MARKED: Final = re.compile(r"""(?:^|[\s,]):|exp\s*:|prop\s*:|['"]""")
"""What only directives in the present form hold, mostly."""
_PRESENT: Final = re.compile(r"\b(?:exp|prop)\s*:\s*\{")
"""What only directives in the present form hold, always."""


def parse(
    text: str, declared: Declared, rules: DirectiveRules = NO_RULES, loaded: Iterable[str] = ()
) -> Recipe:
    """A recipe. Never raises: what is wrong is in ``problems``, and all else is read.

    A directive that ``#pragma load-directives`` names and that is not declared is taken as it is.

    :param loaded: further directives that are taken as if a pragma in the first line named them.
    """
    return _Reader(text, declared, rules, loaded).read()


def loaded_names(text: str) -> list[str]:
    """The user-defined directives that a recipe's pragmas name."""
    return sorted(_Reader(text, {}, NO_RULES).loads()) if "#pragma" in text else []


class _Failed(msgspec.Struct):
    """A piece of text that is no directive in one of the forms."""

    problem: Problem
    is_unknown: bool = False
    """Whether the name is that of no directive."""


class _Called(msgspec.Struct):
    """A directive, and where arguments stand that are passed over."""

    call: Call
    ignored: list[int]


_Made = _Called | Statement | _Failed | None


class _Reader:
    def __init__(
        self, text: str, declared: Declared, rules: DirectiveRules, loaded: Iterable[str] = ()
    ) -> None:
        self.text: Final = text
        self.masked, has_macros = masked(text)
        self.declared: Final = declared
        self.rules: Final = rules
        self.places: Final = Places(text)
        loads = [Load(name, 1, 1) for name in loaded]
        self.recipe: Final = Recipe([], loads, [], has_macros=has_macros)
        self.loaded: set[str] = set(loaded)

    def read(self) -> Recipe:
        lines = list(lines_of(self.masked))
        self.loaded |= self._loads(lines)
        for line in lines:
            self._line(line)
        self.recipe.problems.sort(key=lambda problem: (problem.line, problem.column))
        return self.recipe

    def loads(self) -> set[str]:
        """The directives that pragmas name."""
        return self._loads(list(lines_of(self.masked)))

    def _loads(self, lines: Sequence[Line]) -> set[str]:
        """A pragma counts for the whole recipe, wherever it stands."""
        names: set[str] = set()
        for line in lines:
            for piece in line.pieces:
                if "#pragma" not in self.masked[piece.start : piece.end]:
                    continue
                try:
                    found = parse_statement(self.masked[piece.start : piece.end])
                except SyntaxProblemError:
                    continue
                names.update(name for name, _ in found.loads)
        return names

    def _line(self, line: Line) -> None:
        whole = Piece(line.start, line.end)
        if line.unclosed is not None:
            older = self._older(whole)
            if isinstance(older, _Called):
                self._keep(older)
            else:
                self._problem("what is opened here is never closed", line.unclosed)
            return
        made = [self._read_piece(piece) for piece in line.pieces]
        if len(made) > 1 and any(isinstance(e, _Failed) and e.is_unknown for e in made):
            # What a semicolon begins is no directive: it is part of a text in the older form.
            older = self._older(whole)
            if isinstance(older, _Called):
                made = [older]
        for each in made:
            self._keep(each)

    def _read_piece(self, piece: Piece) -> _Made:
        present = self._present(piece)
        if not isinstance(present, _Failed):
            return present
        older = self._older(piece)
        if isinstance(older, _Called):
            return older
        if older.is_unknown:
            return present
        text = self.masked[piece.start : piece.end]
        return older if present.is_unknown or not _MARKED.search(text) else present

    def _keep(self, made: _Made) -> None:
        if isinstance(made, _Called):
            self.recipe.calls.append(made.call)
            for at in made.ignored:
                self._problem(
                    f"an argument of '{made.call.name}' fits none that is left and is passed over",
                    at,
                    usage=self._usage(made.call.name),
                    is_warning=True,
                )
        elif isinstance(made, _Failed):
            self.recipe.problems.append(made.problem)
        elif made is not None:
            for name, at in made.loads:
                self.recipe.loads.append(Load(name, *self.places.at(at)))
            self.recipe.version = made.version or self.recipe.version

    # -- the present form -------------------------------------------------------------------

    def _present(self, piece: Piece) -> _Made:
        text = self.masked[piece.start : piece.end]
        try:
            found = parse_statement(text)
        except SyntaxProblemError as error:
            return self._unreadable(error, piece)
        if found.name == "if":
            return self._failed(
                "an 'if' block cannot be run: give each directive its own condition, or use "
                "'filter-row' before it",
                piece.start + found.start,
            )
        if not found.name:
            if (found.loads or found.version) and self.masked[piece.end : piece.end + 1] != ";":
                self._problem("a pragma must end with a semicolon", piece.start)
            moved = [(name, piece.start + at) for name, at in found.loads]
            return msgspec.structs.replace(found, loads=moved)
        return self._called(found, piece)

    def _unreadable(self, error: SyntaxProblemError, piece: Piece) -> _Failed | None:
        head = header(self.masked[piece.start : piece.end])
        if head is None or head.name.startswith(("//", "/*", "--")):
            return None
        name = self._known(head.name)
        if name is None and head.name.isascii() and head.name[0].isalpha():
            return self._unknown(head.name, piece.start)
        usage = None if name is None else self._usage(name)
        failed = self._failed(error.message, piece.start + error.offset, usage)
        failed.is_unknown = name is None
        return failed

    def _called(self, found: Statement, piece: Piece) -> _Called | _Failed:
        at = piece.start + found.start
        name = self._known(found.name)
        if name is None:
            return self._unknown(found.name, at)
        if excluded := self._exclusion(found.name, name):
            return self._excluded(excluded, at)
        if name not in self.declared:
            return self._call(name, Bound({}, [], []), piece, at, is_declared=False)
        bound = bind(self.declared[name], found.given)
        if isinstance(bound, Mismatch):
            where = at if bound.at < 0 else piece.start + bound.at
            return self._failed(bound.message, where, self._usage(name))
        return self._call(name, bound, piece, at)

    # -- the older form ---------------------------------------------------------------------

    def _older(self, piece: Piece) -> _Called | _Failed:
        text = self.masked[piece.start : piece.end].rstrip().removesuffix(";")
        head = header(text)
        if head is None or _PRESENT.search(text):
            return self._unknown("", piece.start)
        at = piece.start + len(text) - len(text.lstrip())
        name = head.name if head.renamed else self._known(head.name)
        if name is None or name not in self.declared:
            return self._unknown(head.name, at)
        if excluded := self._exclusion(head.name, name):
            return self._excluded(excluded, at)
        bound = read_older(text, Header(name, head.rest, head.renamed), self.declared[name])
        if isinstance(bound, Mismatch):
            where = at if bound.at < 0 else piece.start + bound.at
            return self._failed(bound.message, where, self._usage(name))
        return self._call(name, bound, Piece(piece.start, piece.start + len(text)), at)

    # -- both -------------------------------------------------------------------------------

    def _known(self, name: str) -> str | None:
        """The directive that a name stands for."""
        name = self.rules.aliases.get(name, name)
        return name if name in self.declared or name in self.loaded else None

    def _usage(self, name: str) -> str | None:
        if name not in self.declared:
            return None
        return " ".join([name, *(argument.usage for argument in self.declared[name])])

    def _call(
        self, name: str, bound: Bound, piece: Piece, at: int, *, is_declared: bool = True
    ) -> _Called:
        line, column = self.places.at(at)
        values = dict(bound.values)
        if is_declared:
            for argument in self.declared[name]:
                span = values.get(argument.attribute)
                if argument.kind is ArgumentKind.EXPRESSION and span is not None:
                    values[argument.attribute] = self._code(piece, span)
        source = self.text[at : piece.end].strip()
        call = Call(name, values, line, column, source, list(bound.macros), is_declared)
        return _Called(call, [piece.start + each.start for each in bound.ignored])

    def _code(self, piece: Piece, span: tuple[int, int]) -> Code:
        start = piece.start + span[0]
        return Code(self.text[start : piece.start + span[1]], *self.places.at(start))

    def _unknown(self, name: str, at: int) -> _Failed:
        if name.lower() in NAMES:
            known = ", ".join(
                " ".join(each.words) for each in RENAMED if each.words[0] == name.lower()
            )
            told = f"what follows '{name}' is not known; there are {known}"
            return _Failed(Problem(told, *self.places.at(at)), is_unknown=True)
        names = [*self.declared, *self.rules.aliases, *self.loaded, *NAMES]
        near = difflib.get_close_matches(name[:60], names, n=1, cutoff=0.7)
        what = f"there is no directive '{_shortened(name)}'" if name else "there is no directive"
        problem = Problem(what, *self.places.at(at), nearest=near[0] if near else None)
        return _Failed(problem, is_unknown=True)

    def _exclusion(self, *names: str) -> str | None:
        """The name that recipes must not use: of an alias, or of the directive that it stands for."""
        return next((name for name in names if name in self.rules.exclusions), None)

    def _excluded(self, name: str, at: int) -> _Failed:
        return self._failed(f"directive '{name}' must not be used in this namespace", at)

    def _failed(self, message: str, at: int, usage: str | None = None) -> _Failed:
        return _Failed(Problem(message, *self.places.at(at), usage=usage))

    def _problem(
        self, message: str, at: int, *, usage: str | None = None, is_warning: bool = False
    ) -> None:
        line, column = self.places.at(at)
        problem = Problem(message, line, column, usage=usage, is_warning=is_warning)
        self.recipe.problems.append(problem)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
