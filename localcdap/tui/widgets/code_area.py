"""Colours of code that can be read on the background of the theme."""

from __future__ import annotations

from functools import cache
from typing import Final

from textual.document._syntax_aware_document import SyntaxAwareDocument
from textual.theme import Theme
from textual.widgets import TextArea
from textual.widgets.text_area import TextAreaTheme
from tree_sitter import Language, Query

_COLOURS: Final = {True: "vscode_dark", False: "github_light"}
"""By whether the theme is dark: whose colours of words are taken. The ground is that of the area."""


class CodeArea(TextArea):
    """Several lines of text with coloured words, in the colours that the theme of the app wants."""

    @staticmethod
    def _get_builtin_highlight_query(language_name: str) -> str:  # noqa: ARG004 - as Textual calls it
        """None: Textual would prepare what it gets anew for each area, which takes up to 40 ms."""
        return ""

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(text, language)
        if language and isinstance(self.document, SyntaxAwareDocument):
            self._highlight_query = _words(self.document.language, language)
            self._build_highlight_map()

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


@cache
def _words(language: Language, name: str) -> Query:
    """What finds the words to be coloured."""
    return Query(language, TextArea._get_builtin_highlight_query(name))
