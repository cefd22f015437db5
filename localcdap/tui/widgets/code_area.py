"""Colours of code that can be read on the background of the theme."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme
from textual.widgets.text_area import TextAreaTheme

from localcdap.tui.textual_internals.text_area import HighlightedTextArea

_COLOURS: Final = {True: "vscode_dark", False: "github_light"}
"""By whether the theme is dark: whose colours of words are taken. The ground is that of the area."""


class CodeArea(HighlightedTextArea):
    """Several lines of text with coloured words, in the colours that the theme of the app wants."""

    def on_mount(self) -> None:
        for is_dark, name in _COLOURS.items():
            builtin = TextAreaTheme.get_builtin_theme(name)
            if builtin is not None:
                own = TextAreaTheme(_named(is_dark), syntax_styles=builtin.syntax_styles)
                self.register_theme(own)
        self._suit(self.app.current_theme)
        self.app.theme_changed_signal.subscribe(self, self._suit)

    def _suit(self, theme: Theme) -> None:
        self.theme = _named(theme.dark)


def _named(is_dark: bool) -> str:
    return "code-dark" if is_dark else "code-light"
