"""A Textual app that only has a list of as many lines as the studio's pipeline has stages."""

from textual.app import App, ComposeResult
from textual.widgets import OptionList, Static


class Empty(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("Namespaces")
        yield OptionList(*(f"line {number}" for number in range(200)))


Empty().run()
