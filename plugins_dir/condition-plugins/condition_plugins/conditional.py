"""The Conditional condition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from localcdap.api import Condition, ControlContext, PluginConfig, StageConfigurer, field, plugin
from localcdap.plugin_lib import jexl
from localcdap.plugin_lib.jexl.parser import Node
from localcdap.plugin_lib.suggestions import suggest_name

_VARIABLES: Final = ("token", "runtime", "global")
_COUNTS: Final[tuple[str, ...]] = ("input", "output", "error")
_GLOBALS: Final[tuple[str, ...]] = (
    "pipeline",
    "namespace",
    "plugin",
    "logical_start_time",
    "logicalStartTime",
)
_UNKNOWN_VARIABLE: Final = (
    "Condition can only specify either 'token', 'runtime', or 'global' in an expression."
)
"""The message of CDAP's ``condition.EL``."""


@plugin(
    name="Conditional",
    description="Takes one of two branches, by an expression about the run so far.",
)
class Conditional(Condition):
    class Config(PluginConfig):
        expression: str = field(
            "A JEXL expression that is true or false. token['Stage']['input'], ['output'] and ['error'] are "
            "the record counts of an earlier stage, runtime['name'] is an argument of the run, and "
            "global['pipeline'], ['namespace'], ['plugin'] and ['logical_start_time'] describe it. For "
            "instance token['Parse']['error'] > 10 && runtime['strict'] == 'true'. Operators and functions "
            "are those of Wrangler's expressions.",
            macro=True,
            syntax="jexl",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        if self.config.contains_macro("expression"):
            return
        try:
            expression = parse_condition(self.config.expression)
        except jexl.JexlError as error:
            stage.failures.add(
                f"Invalid expression: {error.message}", error.corrective_action
            ).with_config_property("expression")
            return
        if stage.earlier_stages is not None:
            for problem in _find_unknown_stages(expression.root, stage.earlier_stages):
                stage.warnings.add(
                    f"{problem.message}: its counts are 0.", problem.hint
                ).with_config_property("expression")

    def decide(self, context: ControlContext) -> bool:
        text = self.config.expression
        try:
            value = parse_condition(text).compile()(make_variables(context))
        except jexl.JexlError as error:
            action = error.corrective_action or "Correct the expression."
            raise context.fail(f"expression '{text}': {error.message}", action) from None
        except jexl.EvaluationError as error:
            message = f"expression '{text}': {str(error).rstrip('.')}."
            raise context.fail(message, "Correct the expression.") from None
        decision = jexl.to_truth(value)
        if decision is None:
            raise context.fail(
                f"expression '{text}' gives {value!r}, which is neither true nor false.",
                "Compare it with something.",
            )
        return decision


class _Entries(dict[str, Any]):
    """A map that names its keys when a key is missing."""

    def get(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            known = ", ".join(self)
            raise jexl.EvaluationError(f"There is no {key!r}; available: {known}")
        return self[key]


class _Counts(dict[str, _Entries]):
    """The counts by stage. A stage that has not run has none: they are 0, as in CDAP's ``Conditional``."""

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self else _Entries(input=0, output=0, error=0)


def parse_condition(text: str) -> jexl.JexlExpression:
    """Parse an expression that reads the variables of a condition.

    :raises jexl.JexlError: for a text that is not an expression, or that reads other variables, or entries
        that no run has.
    """
    if not text.strip():
        raise jexl.JexlError(text, [jexl.Problem("The expression is empty", 1, 1)])
    expression = jexl.parse(text)
    names = {name.partition(".")[0] for name in expression.variables}
    if names - set(_VARIABLES):
        unknown = ", ".join(f"'{name}'" for name in sorted(names - set(_VARIABLES)))
        problem = jexl.Problem(_UNKNOWN_VARIABLE, 1, 1, f"Put {unknown} in quotes if it is text.")
        raise jexl.JexlError(text, [problem])
    problems = list(_find_unknown_entries(expression.root))
    if problems:
        raise jexl.JexlError(text, problems)
    return expression


def _find_unknown_entries(root: Node) -> Iterator[jexl.Problem]:
    """Find entries of ``global`` and counts of ``token`` that no run has."""
    for node in root.walk():
        path = _read_path(node)
        if path[:1] == ["global"] and len(path) == 2:
            yield from _check_entry(node, "'global' has no entry", path[1], _GLOBALS)
        elif path[:1] == ["token"] and len(path) == 3:
            yield from _check_entry(node, f"stage '{path[1]}' has no count", path[2], _COUNTS)


def _find_unknown_stages(root: Node, stages: Collection[str]) -> Iterator[jexl.Problem]:
    """Find the stages of ``token`` that are not before the condition, once each."""
    paths = [(node, _read_path(node)) for node in root.walk()]
    named = {path[1]: node for node, path in paths if path[:1] == ["token"] and len(path) == 2}
    for name, node in named.items():
        yield from _check_entry(node, "No stage before the condition is called", name, stages)


def _check_entry(
    node: Node, what: str, name: str, known: Collection[str]
) -> Iterator[jexl.Problem]:
    if name not in known:
        hint = suggest_name(name, sorted(known))
        yield jexl.Problem(f"{what} '{name}'", node.line, node.column, hint)


def _read_path(node: Node) -> list[str]:
    """Return ``['token', 'A', 'input']`` for ``token['A'].input``; empty for what has no such form."""
    keys: list[str] = []
    while node.kind in ("member", "index"):
        key = node.value[0] if node.kind == "member" else node.parts[1].value
        if not isinstance(key, str) or (node.kind == "index" and node.parts[1].kind != "constant"):
            return []
        keys.append(key)
        node = node.parts[0]
    return [node.value, *reversed(keys)] if node.kind == "name" else []


def make_variables(context: ControlContext) -> Mapping[str, Any]:
    """Return the values of ``token``, ``runtime`` and ``global``; a missing argument is null."""
    milliseconds = round(context.logical_start_time.timestamp() * 1000)
    return {
        "token": _Counts(
            (name, _Entries(input=each.input, output=each.output, error=each.error))
            for name, each in context.stage_statistics.items()
        ),
        "runtime": dict(context.arguments),
        "global": _Entries(
            pipeline=context.pipeline,
            namespace=context.namespace,
            plugin=context.stage_name,
            logical_start_time=milliseconds,
            logicalStartTime=milliseconds,
        ),
    }
