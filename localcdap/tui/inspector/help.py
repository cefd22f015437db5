"""The lines below a form that tell about the field with the focus."""

from __future__ import annotations

from textual.content import Content

from localcdap.tui.widgets.cached_static import CachedStatic


class Help(CachedStatic):
    """As much of a text as there is room for; all of it stands in the documentation of the plugin."""

    DEFAULT_CSS = """
    Help { display: none; height: 4; padding: 0 1; background: $surface; }
    """

    def __init__(self) -> None:
        super().__init__(classes="help")
        self._whole = Content()

    def tell(self, text: Content | None) -> None:
        """Show another text; None for none."""
        self.display = text is not None
        self._whole = text or Content()
        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        width, height = self.content_size
        self.update_if_changed(
            cropped(self._whole, width, height) if width and height else self._whole
        )


def cropped(text: Content, width: int, height: int) -> Content:
    """A text in so many lines; the last one ends with an ellipsis where there are more."""
    lines = text.wrap(width)
    if len(lines) <= height:
        return text
    last = lines[height - 1].rstrip()
    if last.cell_length >= width:
        last = last.truncate(width - 1)
    return Content("\n").join(
        [*(line.rstrip() for line in lines[: height - 1]), last + Content("…")]
    )
