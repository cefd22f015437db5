"""Parses recipes, and formats them: a text becomes calls of directives, with every problem in it at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from localcdap.api.directive.argument import Argument, ArgumentKind, NumberRange
from localcdap.plugin_lib.wrangler.language.grammar import (
    RecipeLine,
    RecipeSyntaxError,
    SourcePositions,
    SourceSpan,
    Statement,
    mask_macros,
    parse_statement,
    split_lines,
)
from localcdap.plugin_lib.wrangler.language.legacy_syntax import (
    LEGACY_NAMES,
    RENAMED_DIRECTIVES,
    ArgumentMismatch,
    BoundArguments,
    StatementHeader,
    bind_arguments,
    parse_legacy_arguments,
    read_header,
)
from localcdap.plugin_lib.wrangler.language.model import (
    DirectiveCall,
    ExpressionSource,
    LoadPragma,
    Recipe,
)
from localcdap.text import nearest_name
from localcdap.workspace_views import RecipeProblem

DeclaredArguments = Mapping[str, Sequence[Argument]]
"""The arguments of every directive by its name."""


class DirectiveRules(msgspec.Struct, frozen=True):
    """The directives that a namespace allows (wrangler ``DirectiveConfig``):
    ``{"exclusions": […], "aliases": {…}}``.
    """

    exclusions: list[str] = []
    """Names of directives that recipes must not use."""
    aliases: dict[str, str] = {}
    """Names of directives by their aliases."""


NO_RULES: Final = DirectiveRules()
_CURRENT_SYNTAX_HINT: Final = re.compile(r"""(?:^|[\s,]):|exp\s*:|prop\s*:|['"]""")
"""Text that mostly stands in the current syntax only."""
_CURRENT_SYNTAX: Final = re.compile(r"\b(?:exp|prop)\s*:\s*\{")
"""Text that stands in the current syntax only."""
_MAX_NAME: Final = 60
"""Characters of an unknown name that are compared with the known ones."""


class _SplitRecipe(msgspec.Struct, frozen=True):
    """A recipe's text, masked and split into lines."""

    text: str
    has_macros: bool
    lines: tuple[RecipeLine, ...]
    loads: frozenset[str]
    """The directives that pragmas name. A pragma counts for the whole recipe, wherever it stands."""


def parse_recipe(
    text: str,
    declared: DeclaredArguments,
    rules: DirectiveRules = NO_RULES,
    loaded: Iterable[str] = (),
) -> Recipe:
    """Parse a recipe. It never raises: everything wrong is in ``problems``, and the rest is parsed.

    An undeclared directive that ``#pragma load-directives`` names is accepted with any arguments.

    :param loaded: further directives that are accepted as if a pragma in the first line named them.
    """
    return _RecipeParser(text, declared, rules, loaded).parse()


def list_loaded_directives(text: str) -> list[str]:
    """Return the names of the user-defined directives that a recipe's pragmas load."""
    return sorted(_split_recipe(text).loads) if "#pragma" in text else []


@lru_cache(maxsize=64)
def _split_recipe(text: str) -> _SplitRecipe:
    masked, has_macros = mask_macros(text)
    lines = tuple(split_lines(masked))
    loads: set[str] = set()
    for span in (span for line in lines for span in line.statements):
        statement = masked[span.start : span.end]
        if "#pragma" in statement:
            try:
                loads.update(name for name, _ in parse_statement(statement).loads)
            except RecipeSyntaxError:
                continue
    return _SplitRecipe(masked, has_macros, lines, frozenset(loads))


class _FailedStatement(msgspec.Struct):
    """A text that is not a valid directive in one of the syntaxes."""

    problem: RecipeProblem
    is_unknown_name: bool = False
    """Whether no directive has the name."""


class _ParsedCall(msgspec.Struct):
    """A directive, and the offsets of arguments that are ignored."""

    call: DirectiveCall
    ignored: list[int]


_ParseResult = _ParsedCall | Statement | _FailedStatement | None


class _RecipeParser:
    """Parses one text. Each statement is tried in the current syntax first, then in the legacy one."""

    def __init__(
        self, text: str, declared: DeclaredArguments, rules: DirectiveRules, loaded: Iterable[str]
    ) -> None:
        self._text: Final = text
        self._split: Final = _split_recipe(text)
        self._masked: Final = self._split.text
        self._declared: Final = declared
        self._rules: Final = rules
        self._positions: Final = SourcePositions(text)
        self._calls: list[DirectiveCall] = []
        self._loads = [LoadPragma(name, 1, 1) for name in loaded]
        self._loaded: Final = {load.name for load in self._loads} | self._split.loads
        self._problems: list[RecipeProblem] = []
        self._version: str | None = None
        self._known_calls: int | None = None
        self._nearest: dict[str, str | None] = {}
        """The most similar known name by unknown name: a comparison takes 0.5 ms."""

    def parse(self) -> Recipe:
        for line in self._split.lines:
            self._parse_line(line)
        self._problems.sort(key=lambda problem: (problem.line, problem.column))
        return Recipe(
            tuple(self._calls),
            tuple(self._loads),
            tuple(self._problems),
            self._version,
            self._split.has_macros,
            self._known_calls,
        )

    def _parse_line(self, line: RecipeLine) -> None:
        whole = SourceSpan(line.start, line.end)
        if line.unclosed is not None:
            legacy = self._parse_legacy(whole)
            if isinstance(legacy, _ParsedCall):
                self._add_result(legacy)
            else:
                self._add_problem("what is opened here is never closed", line.unclosed)
                self._note_gap()
            return
        results = [self._parse_span(span) for span in line.statements]
        if len(results) > 1 and any(
            isinstance(each, _FailedStatement) and each.is_unknown_name for each in results
        ):
            # The text after a semicolon is not a directive: the line may be one in the legacy syntax.
            legacy = self._parse_legacy(whole)
            if isinstance(legacy, _ParsedCall):
                results = [legacy]
        for result in results:
            self._add_result(result)

    def _parse_span(self, span: SourceSpan) -> _ParseResult:
        current = self._parse_current(span)
        if not isinstance(current, _FailedStatement):
            return current
        legacy = self._parse_legacy(span)
        if isinstance(legacy, _ParsedCall):
            return legacy
        if legacy.is_unknown_name:
            return current
        text = self._masked[span.start : span.end]
        is_legacy = current.is_unknown_name or not _CURRENT_SYNTAX_HINT.search(text)
        return legacy if is_legacy else current

    def _add_result(self, result: _ParseResult) -> None:
        if isinstance(result, _ParsedCall):
            self._calls.append(result.call)
            for at in result.ignored:
                self._add_problem(
                    f"an argument of '{result.call.name}' fits none that is left and is passed over",
                    at,
                    usage=self._find_usage(result.call.name),
                    is_warning=True,
                )
        elif isinstance(result, _FailedStatement):
            self._problems.append(result.problem)
            self._note_gap()
        elif result is None or not (result.loads or result.version):
            if self._split.has_macros:  # the statement may be a macro
                self._note_gap()
        else:
            for name, at in result.loads:
                self._loads.append(LoadPragma(name, *self._positions.locate(at)))
            self._version = result.version or self._version

    def _note_gap(self) -> None:
        if self._known_calls is None:
            self._known_calls = len(self._calls)

    # -- the current syntax -----------------------------------------------------------------

    def _parse_current(self, span: SourceSpan) -> _ParseResult:
        text = self._masked[span.start : span.end]
        try:
            found = parse_statement(text)
        except RecipeSyntaxError as error:
            return self._explain_syntax_error(error, span)
        if found.name == "if":
            return self._fail(
                "an 'if' block cannot be run: give each directive its own condition, or use "
                "'filter-row' before it",
                span.start + found.start,
            )
        if not found.name:
            if (found.loads or found.version) and self._masked[span.end : span.end + 1] != ";":
                self._add_problem("a pragma must end with a semicolon", span.start)
            moved = [(name, span.start + at) for name, at in found.loads]
            return msgspec.structs.replace(found, loads=moved)
        return self._bind_statement(found, span)

    def _explain_syntax_error(
        self, error: RecipeSyntaxError, span: SourceSpan
    ) -> _FailedStatement | None:
        header = read_header(self._masked[span.start : span.end])
        if header is None or header.name.startswith(("//", "/*", "--")):
            return None
        name = self._resolve_name(header.name)
        if name is None and header.name.isascii() and header.name[0].isalpha():
            return self._fail_unknown(header.name, span.start)
        usage = None if name is None else self._find_usage(name)
        failed = self._fail(error.message, span.start + error.offset, usage)
        failed.is_unknown_name = name is None
        return failed

    def _bind_statement(self, found: Statement, span: SourceSpan) -> _ParsedCall | _FailedStatement:
        at = span.start + found.start
        name = self._resolve_name(found.name)
        if name is None:
            return self._fail_unknown(found.name, at)
        if excluded := self._find_exclusion(found.name, name):
            return self._fail_excluded(excluded, at)
        if name not in self._declared:
            return self._make_call(name, BoundArguments({}, [], []), span, at, is_declared=False)
        bound = bind_arguments(self._declared[name], found.arguments)
        if isinstance(bound, ArgumentMismatch):
            return self._fail_mismatch(bound, name, span, at)
        return self._make_call(name, bound, span, at)

    # -- the legacy syntax ------------------------------------------------------------------

    def _parse_legacy(self, span: SourceSpan) -> _ParsedCall | _FailedStatement:
        text = self._masked[span.start : span.end].rstrip().removesuffix(";")
        header = read_header(text)
        if header is None or _CURRENT_SYNTAX.search(text):
            return self._fail_unknown("", span.start)
        at = span.start + len(text) - len(text.lstrip())
        name = header.name if header.renamed else self._resolve_name(header.name)
        if name is None or name not in self._declared:
            return self._fail_unknown(header.name, at)
        if excluded := self._find_exclusion(header.name, name):
            return self._fail_excluded(excluded, at)
        header = StatementHeader(name, header.end, header.renamed)
        bound = parse_legacy_arguments(text, header, self._declared[name])
        if isinstance(bound, ArgumentMismatch):
            return self._fail_mismatch(bound, name, span, at)
        return self._make_call(name, bound, SourceSpan(span.start, span.start + len(text)), at)

    # -- both syntaxes ----------------------------------------------------------------------

    def _resolve_name(self, name: str) -> str | None:
        """Return the directive that a name or an alias stands for; None for an unknown one."""
        name = self._rules.aliases.get(name, name)
        return name if name in self._declared or name in self._loaded else None

    def _find_usage(self, name: str) -> str | None:
        if name not in self._declared:
            return None
        return " ".join([name, *(argument.usage for argument in self._declared[name])])

    def _make_call(
        self,
        name: str,
        bound: BoundArguments,
        span: SourceSpan,
        at: int,
        *,
        is_declared: bool = True,
    ) -> _ParsedCall:
        line, column = self._positions.locate(at)
        values = dict(bound.values)
        if is_declared:
            for argument in self._declared[name]:
                found = values.get(argument.attribute)
                if argument.kind is ArgumentKind.EXPRESSION and found is not None:
                    values[argument.attribute] = self._make_expression(span, found)
        source = self._text[at : span.end].strip()
        call = DirectiveCall(name, values, line, column, source, tuple(bound.macros), is_declared)
        return _ParsedCall(call, [span.start + each.start for each in bound.ignored])

    def _make_expression(self, span: SourceSpan, offsets: tuple[int, int]) -> ExpressionSource:
        start = span.start + offsets[0]
        text = self._text[start : span.start + offsets[1]]
        return ExpressionSource(text, *self._positions.locate(start))

    def _find_exclusion(self, *names: str) -> str | None:
        """Return the first name that recipes must not use: an alias, or the directive that it stands for."""
        return next((name for name in names if name in self._rules.exclusions), None)

    def _fail_unknown(self, name: str, at: int) -> _FailedStatement:
        position = self._positions.locate(at)
        if name.lower() in LEGACY_NAMES:
            known = ", ".join(
                " ".join(each.words) for each in RENAMED_DIRECTIVES if each.words[0] == name.lower()
            )
            message = f"what follows '{name}' is not known; there are {known}"
            return _FailedStatement(RecipeProblem(message, *position), is_unknown_name=True)
        nearest = self._find_nearest(name[:_MAX_NAME]) if name else None
        message = f"there is no directive '{_shorten(name)}'" if name else "there is no directive"
        return _FailedStatement(
            RecipeProblem(message, *position, nearest=nearest), is_unknown_name=True
        )

    def _find_nearest(self, name: str) -> str | None:
        if name not in self._nearest:
            names = (*self._declared, *self._rules.aliases, *self._loaded, *LEGACY_NAMES)
            self._nearest[name] = nearest_name(name, names)
        return self._nearest[name]

    def _fail_excluded(self, name: str, at: int) -> _FailedStatement:
        return self._fail(f"directive '{name}' must not be used in this namespace", at)

    def _fail_mismatch(
        self, mismatch: ArgumentMismatch, name: str, span: SourceSpan, at: int
    ) -> _FailedStatement:
        where = at if mismatch.offset < 0 else span.start + mismatch.offset
        return self._fail(mismatch.message, where, self._find_usage(name))

    def _fail(self, message: str, at: int, usage: str | None = None) -> _FailedStatement:
        return _FailedStatement(RecipeProblem(message, *self._positions.locate(at), usage=usage))

    def _add_problem(
        self, message: str, at: int, *, usage: str | None = None, is_warning: bool = False
    ) -> None:
        line, column = self._positions.locate(at)
        self._problems.append(
            RecipeProblem(message, line, column, usage=usage, is_warning=is_warning)
        )


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def format_recipe(recipe: Recipe, declared: Mapping[str, Sequence[Argument]]) -> str:
    """Return a text with the meaning of the recipe, without comments and directives that have errors."""
    lines = []
    if recipe.version is not None:
        lines.append(f"#pragma version {recipe.version};")
    if recipe.loads:
        lines.append(f"#pragma load-directives {', '.join(load.name for load in recipe.loads)};")
    lines += [format_call(call, declared.get(call.name)) for call in recipe.calls]
    return "\n".join(lines)


def format_call(call: DirectiveCall, declared: Sequence[Argument] | None) -> str:
    """Return a directive as text; its source where the current syntax cannot express it."""
    if declared is None or call.macros or not call.is_declared:
        return call.source
    parts = [call.name]
    for argument in declared:
        if argument.attribute in call.arguments:
            part = _format_argument(argument.kind, call.arguments[argument.attribute])
            if part is None:
                return call.source
            parts.append(part)
    text = " ".join(parts) + ";"
    return text if _has_meaning(text, call, declared) else call.source


def _has_meaning(text: str, call: DirectiveCall, declared: Sequence[Argument]) -> bool:
    """Whether a text is parsed as the call: quotes and braces in an expression may change the meaning."""
    calls = parse_recipe(text, {call.name: declared}).calls
    return len(calls) == 1 and _list_values(calls[0]) == _list_values(call)


def _list_values(call: DirectiveCall) -> dict[str, Any]:
    return {
        name: value.text if isinstance(value, ExpressionSource) else value
        for name, value in call.arguments.items()
    }


def _format_argument(kind: ArgumentKind, value: Any) -> str | None:
    match kind:
        case ArgumentKind.COLUMN:
            return f":{value}"
        case ArgumentKind.COLUMNS:
            return ",".join(f":{name}" for name in value)
        case ArgumentKind.TEXT:
            return _quote_directive_text(value)
        case ArgumentKind.BOOL:
            return str(value).lower()
        case ArgumentKind.EXPRESSION:
            return f"exp:{{{value.text}}}"
        case ArgumentKind.TEXTS | ArgumentKind.NUMBERS | ArgumentKind.BOOLS:
            return _join([_format_scalar(member) for member in value])
        case ArgumentKind.RANGES:
            return _join([_format_range(each) for each in value])
        case ArgumentKind.PROPERTIES:
            pairs = [(name, _format_scalar(member)) for name, member in value.items()]
            inner = _join([text and f"{name}={text}" for name, text in pairs])
            return None if inner is None else f"prop:{{{inner}}}"
        case _:
            return str(value)


def _quote_directive_text(text: str) -> str | None:
    for quote in "'\"":
        if quote not in text and not text.endswith("\\") and "\n" not in text:
            return f"{quote}{text}{quote}"
    return None


def _format_scalar(value: Any) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    return _quote_directive_text(value) if isinstance(value, str) else str(value)


def _format_range(each: NumberRange) -> str | None:
    value = _quote_directive_text(each.value)
    return None if value is None else f"{each.start}:{each.end}={value}"


def _join(parts: Sequence[str | None]) -> str | None:
    return None if None in parts else ",".join(part for part in parts if part is not None)
