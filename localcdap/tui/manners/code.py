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


@cache
def _query(language: Language, text: str) -> Query:
    return Query(language, text)


def _prepared(document: SyntaxAwareDocument, text: str) -> Query | None:
    """What finds the words to be coloured. Textual makes it anew for each area, which takes up to 40 ms."""
    return _query(document.language, text)


SyntaxAwareDocument.prepare_query = _prepared  # type: ignore[assignment, method-assign]


class CodeArea(TextArea):
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
