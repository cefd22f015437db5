"""The drawing of a saved pipeline, to look at: at the nearest zoom with names at which it is whole in view.

One that is larger than that begins at its left, with the overview.
"""

from __future__ import annotations

from localcdap.pipeline.document.model import PipelineDocument
from localcdap.tui.canvas.chart import Chart, build_chart
from localcdap.tui.canvas.drawing_view import DrawingView
from localcdap.tui.canvas.layout import lay_out
from localcdap.tui.canvas.stage_card import build_card
from localcdap.tui.canvas.zoom import COMPACT, NORMAL, SNUG


class PipelineChart(DrawingView):
    """Shows the stages and connections of a document. It takes no keys."""

    def show_document(self, document: PipelineDocument | None) -> None:
        """Draw a document; None draws nothing, and hides the view."""
        self.display = document is not None and bool(document.stages)
        if document is None:
            return
        self._cards = {
            stage.name: build_card(stage.name, stage.plugin.name, stage.plugin.type, None)
            for stage in (*document.stages, *document.post_actions)
        }
        self._show_chart(build_chart(document))

    def on_resize(self) -> None:
        super().on_resize()
        self._show_chart(self._chart)

    def _show_chart(self, chart: Chart) -> None:
        self._chart = chart
        tried = (zoom for zoom in (NORMAL, SNUG) if self._fits(lay_out(chart, zoom)))
        self._zoom = next(tried, COMPACT)
        self._lay_out()
        self.scroll_home(animate=False)
