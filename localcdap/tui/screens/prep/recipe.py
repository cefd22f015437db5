"""The recipe that is being written: its steps, and every state that it had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class PrepStep:
    """One directive.

    :param is_on: whether it runs; one that is switched off stays in its place.
    """

    directive: str
    is_on: bool = True


Steps = tuple[PrepStep, ...]


_OFF: Final = "// "
"""Begins the line of a step that is switched off; recipes have comments after it."""


def write_step(step: PrepStep) -> str:
    """Return a step as a line that :func:`read_step` reads."""
    return step.directive if step.is_on else _OFF + step.directive


def read_step(line: str) -> PrepStep:
    """Return the step of a line."""
    is_off = line.startswith(_OFF)
    return PrepStep(line.removeprefix(_OFF), is_on=not is_off)


class PrepRecipe:
    """The steps of a recipe, with undo and redo of every change.

    Numbers of steps count all of them, from 0.
    """

    def __init__(self, steps: Iterable[PrepStep] = ()) -> None:
        self.steps: Steps = tuple(steps)
        self._past: Final[list[Steps]] = []
        self._future: Final[list[Steps]] = []

    @property
    def directives(self) -> list[str]:
        """The directives that run."""
        return [each.directive for each in self.steps if each.is_on]

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def count_running(self, number: int) -> int:
        """Return how many directives run up to a step and with it; -1 as the step gives 0."""
        return sum(each.is_on for each in self.steps[: number + 1])

    def with_directive(self, directive: str, at: int, *, replaces: bool) -> list[str]:
        """Return the directives that would run with another one.

        :param at: the number of the step that it replaces, or before which it comes.
        """
        steps = list(self.steps)
        steps[at : at + replaces] = [PrepStep(directive)]
        return [each.directive for each in steps if each.is_on]

    def insert(self, directives: Sequence[str], at: int) -> None:
        """Add steps before the step of a number."""
        self._change((*self.steps[:at], *map(PrepStep, directives), *self.steps[at:]))

    def restore(self, steps: Iterable[PrepStep]) -> None:
        """Take all steps of an earlier time; undo takes them away."""
        self._change(tuple(steps))

    def edit(self, number: int, directive: str) -> None:
        """Change the directive of a step."""
        self._replace(number, replace(self.steps[number], directive=directive))

    def switch(self, number: int) -> None:
        """Switch a step off, or on again."""
        step = self.steps[number]
        self._replace(number, replace(step, is_on=not step.is_on))

    def remove(self, number: int) -> None:
        """Remove a step."""
        self._change((*self.steps[:number], *self.steps[number + 1 :]))

    def move(self, number: int, by: int) -> bool:
        """Move a step by so many places; return False when it is at the end of the recipe already."""
        to = number + by
        if not 0 <= to < len(self.steps):
            return False
        steps = list(self.steps)
        steps.insert(to, steps.pop(number))
        self._change(tuple(steps))
        return True

    def undo(self) -> None:
        """Go back to the state before the last change."""
        self._future.append(self.steps)
        self.steps = self._past.pop()

    def redo(self) -> None:
        """Make the change again that was undone last."""
        self._past.append(self.steps)
        self.steps = self._future.pop()

    def _replace(self, number: int, step: PrepStep) -> None:
        self._change((*self.steps[:number], step, *self.steps[number + 1 :]))

    def _change(self, steps: Steps) -> None:
        if steps != self.steps:
            self._past.append(self.steps)
            self._future.clear()
            self.steps = steps
