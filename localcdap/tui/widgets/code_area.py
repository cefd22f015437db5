"""A text area for code, with colours that fit the theme."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme
from textual.widgets.text_area import TextAreaTheme

from localcdap.tui.textual_internals.text_area import HighlightedTextArea

_COLOURS: Final = {True: "vscode_dark", False: "github_light"}
"""The theme of Textual whose word colours are used, by whether the theme of the app is dark."""


class CodeArea(HighlightedTextArea):
    """A text area with syntax highlighting in colours that fit the theme of the app."""

    def on_mount(self) -> None:
        for is_dark, name in _COLOURS.items():
            builtin = TextAreaTheme.get_builtin_theme(name)
            if builtin is not None:
                own = TextAreaTheme(_get_theme_name(is_dark), syntax_styles=builtin.syntax_styles)
                self.register_theme(own)
        self._set_colours(self.app.current_theme)
        self.app.theme_changed_signal.subscribe(self, self._set_colours)

    def _set_colours(self, theme: Theme) -> None:
        self.theme = _get_theme_name(theme.dark)


def _get_theme_name(is_dark: bool) -> str:
    return "code-dark" if is_dark else "code-light"
