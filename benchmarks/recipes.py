"""How long it takes to compile and validate a recipe, without Spark."""

from __future__ import annotations

import statistics
import time
from typing import Final

from benchmarks.pipelines import RECIPE

_DIRECTIVES: Final = 50


def checked_seconds(rounds: int) -> float:
    """Seconds for 50 directives, none of which was seen before in just this form."""
    from localcdap.api.schema import Schema
    from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe
    from localcdap.plugin_lib.wrangler.recipe.propagation import propagate, to_columns

    given = to_columns(Schema.record("line", [("body", Schema.STRING)]))
    times = []
    for number in range(rounds + 2):
        text = _recipe(number)
        begun = time.perf_counter()
        recipe = load_recipe(text)
        propagate(recipe.steps, given)
        times.append(time.perf_counter() - begun)
        assert not recipe.errors
        assert len(recipe.steps) == _DIRECTIVES
    return statistics.median(times[2:])


def _recipe(number: int) -> str:
    """Every directive names columns of its own, so that nothing is cached."""
    lines = [RECIPE[0]]
    others = [line for line in RECIPE[1:] if not line.startswith("drop")]
    while len(lines) < _DIRECTIVES:
        line = others[len(lines) % len(others)]
        lines.append(line.replace("body_", f"body_{number}{len(lines)}"))
    return "\n".join(lines)
