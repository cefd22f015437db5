"""``math:`` beside ``java.lang.Math``: the table holds what Java 17 on x86-64 answered.

Each line is a function, its arguments with their kinds (D double, L long, I int), and the result, which is
``!`` for an exception.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import pytest

import localcdap.plugin_lib.jexl.functions.arithmetics  # noqa: F401 - declares the functions
from localcdap.plugin_lib.jexl.errors import EvaluationError
from localcdap.plugin_lib.jexl.functions.registry import FUNCTIONS

TABLE = Path(__file__).with_name("java_math.txt")
OF_PROCESSOR = frozenset(("cos", "exp", "log", "pow", "sin", "tan"))
"""Functions for which Java has instructions of the processor; their last bit depends on it."""


def read_number(text: str) -> int | float:
    return int(text[1:]) if text[0] != "D" else float(text[1:].replace("Infinity", "inf"))


def read_table() -> dict[str, list[tuple[list[int | float], str]]]:
    answers = defaultdict(list)
    for line in TABLE.read_text().splitlines():
        function, *arguments, answer = line.split("\t")
        answers[function].append((list(map(read_number, arguments)), answer))
    return answers


ANSWERS = read_table()


@pytest.mark.parametrize("function", sorted(ANSWERS))
def test_the_answers_are_those_of_java(function: str):
    wrong = []
    for arguments, answer in ANSWERS[function]:
        try:
            value = FUNCTIONS["math", function].build_caller(len(arguments))(*arguments)
        except EvaluationError:
            value = "!"
        if not is_same(value, answer, 1 if function in OF_PROCESSOR else 0):
            wrong.append((arguments, answer, value))
    assert wrong == []


def is_same(value: object, answer: str, ulps: int) -> bool:
    if not isinstance(value, float):
        return str(value) == answer
    right = float(answer.replace("Infinity", "inf"))
    if math.isnan(right) or math.isinf(right) or right == 0:
        return repr(value) == repr(right)
    return abs(value - right) <= ulps * math.ulp(right)
