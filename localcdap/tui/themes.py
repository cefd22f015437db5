"""The looks of the studio."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = "localcdap-dark"
LIGHT: Final = "localcdap-light"
SIXTEEN: Final = "localcdap-16"
"""The dark one where a terminal has 16 colours: in theirs, as any other would become some neighbour."""

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
    Theme(
        name=SIXTEEN,
        primary="#55ffff",
        secondary="#00aaaa",
        accent="#ffff55",
        warning="#ffff55",
        error="#ff5555",
        success="#55ff55",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#000000",
        boost="#555555",
        dark=True,
        variables={
            "footer-key-foreground": "#ffff55",
            "input-selection-background": "#0000aa",
            "text-error": "#ff5555",
            "text-success": "#55ff55",
            "text-warning": "#ffff55",
            "text-accent": "#ffff55",
            "text-primary": "#55ffff",
        },
    ),
)
THEME_NAMES: Final = tuple(theme.name for theme in THEMES)
"""The themes: each has one accent colour, and otherwise muted colours."""
