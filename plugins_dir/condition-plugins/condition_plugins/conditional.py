"""The Conditional condition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api import (
    Condition,
    ControlContext,
    PluginConfig,
    StageConfigurer,
    field,
    plugin,
)

from .evaluation import evaluate
from .expression import ExpressionError, parse


@plugin(
    type="condition",
    name="Conditional",
    description="Takes one branch when an expression about the run so far is true, and another one else.",
)
class Conditional(Condition):
    class Config(PluginConfig):
        expression: str = field(
            "A JEXL expression that is true or false. token['Stage']['input'], ['output'] and ['error'] are "
            "the records of a stage before this one, runtime['name'] is an argument of the run, and "
            "global['pipeline'], ['namespace'], ['plugin'] and ['logical_start_time'] tell about it. For "
            "instance token['Parse']['error'] > 10 && runtime['strict'] == 'true'. There are && || ! == != "
            "< <= > >= =~ + - * / % ?: and their words (and, or, not, eq …), size(), empty(), math:abs, "
            "ceil, floor, max, min, pow, round, sqrt, and the usual methods of texts.",
            macro=True,
            syntax="jexl",
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        stage.output_schema = stage.input_schema
        if self.config.contains_macro("expression"):
            return
        try:
            parse(self.config.expression)
        except ExpressionError as error:
            stage.failures.add(f"Invalid expression: {error}").with_config_property("expression")

    def decide(self, context: ControlContext) -> bool:
        text = self.config.expression
        try:
            value = evaluate(parse(text), _variables(context))
        except ExpressionError as error:
            raise context.fail(f"expression '{text}': {error}", "Correct the expression.") from None
        if not isinstance(value, bool):
            raise context.fail(
                f"expression '{text}' gives {value!r}, which is neither true nor false.",
                "Compare it with something.",
            )
        return value


def _variables(context: ControlContext) -> Mapping[str, Any]:
    milliseconds = round(context.logical_start_time.timestamp() * 1000)
    return {
        "token": {
            name: {"input": each.input, "output": each.output, "error": each.error}
            for name, each in context.stage_statistics.items()
        },
        "runtime": dict(context.arguments),
        "global": {
            "pipeline": context.pipeline,
            "namespace": context.namespace,
            "plugin": context.stage_name,
            "logical_start_time": milliseconds,
            "logicalStartTime": milliseconds,
        },
    }
