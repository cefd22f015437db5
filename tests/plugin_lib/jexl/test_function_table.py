"""The table of all functions: it has those of the original, and each is safe."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

from localcdap.plugin_lib.jexl import EvaluationError
from localcdap.plugin_lib.jexl.functions import FUNCTIONS
from tests.plugin_lib.jexl.test_functions import ROW

NAMES = Path(__file__).with_name("original_functions.txt")
"""Each namespace of CDAP's ``EL`` with the functions of its class in wrangler."""


def test_every_function_of_the_original_is_there() -> None:
    lines = [line.split() for line in NAMES.read_text("utf-8").splitlines()]
    names = {(space.removesuffix(":"), name) for space, *rest in lines for name in rest}

    assert len(names) > 170
    assert sorted(names - set(FUNCTIONS)) == []


def test_every_function_is_safe_from_nulls_and_garbage() -> None:
    """Whatever a function gets, it answers or raises the one error that rows have."""
    import random

    draw = random.Random(5)
    things = [
        None,
        "",
        "x",
        "12",
        0,
        -1,
        2**40,
        1.5,
        math.nan,
        Decimal("1.5"),
        True,
        b"ab",
        [1, None],
        {"a": 1},
        ROW["d"],
        ROW["t"],
        ROW["dt"],
        ROW["z"],
        "2020-01-02",
        "[",
        "%s%d",
        "(",
        range(3),
    ]
    for function in FUNCTIONS.values():
        for count in range(5):
            for _ in range(12 if function.find_overloads(count) else 0):
                arguments = [draw.choice(things) for _ in range(count)]
                message = "none"
                try:
                    function.build_caller(count)(*arguments)
                except EvaluationError as error:
                    message = str(error)
                assert message
