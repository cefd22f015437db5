"""The looks of the studio."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = "localcdap-dark"
LIGHT: Final = "localcdap-light"

THEMES: Final = (
    Theme(
        name=DARK,
        primary="#7aa2c8",
        secondary="#5f7f9e",
        accent="#e0a458",
        warning="#e0b35a",
        error="#e06c75",
        success="#7fb685",
        foreground="#d5d9de",
        background="#15181c",
        surface="#1b1f24",
        panel="#22272d",
        boost="#ffffff0d",
        dark=True,
        variables={"footer-key-foreground": "#e0a458", "input-selection-background": "#7aa2c8 35%"},
    ),
    Theme(
        name=LIGHT,
        primary="#2f6690",
        secondary="#5b88ab",
        accent="#b3620f",
        warning="#a66a00",
        error="#b3261e",
        success="#2e7d4f",
        foreground="#23282e",
        background="#fafaf8",
        surface="#f2f2ef",
        panel="#e8e8e4",
        boost="#0000000a",
        dark=False,
        variables={"footer-key-foreground": "#b3620f", "input-selection-background": "#2f6690 25%"},
    ),
)
"""One accent colour each; everything else is quiet."""
