"""Corrective actions for names that are not there."""

from __future__ import annotations

from collections.abc import Iterable

from localcdap.text import nearest_name


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the most similar of the known names, else with all of them."""
    names = list(known)
    nearest = nearest_name(name, names)
    if nearest is not None:
        return f"Did you mean '{nearest}'?"
    return f"Choose one of: {', '.join(names)}." if names else "There are none."
