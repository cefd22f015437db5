"""The facets of the prep area: their list, and the directives that they become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets.option_list import Option

from localcdap.expectations.rules import Expectation, MeetsCondition
from localcdap.tui.labels import MUTED, sanitize_name
from localcdap.tui.lists import StudioOptionList, ValueOption
from localcdap.workspace_views import Facet, FacetBin, FacetView

KINDS: Final = {
    "values": "frequent values",
    "range": "ranges of numbers",
    "year": "years",
    "month": "months",
    "form": "forms of texts",
    "length": "lengths of texts",
    "state": "null, blank and other values",
    "duplicates": "rows that are there again",
}
"""The kinds of facets, with what they show."""
DUPLICATES: Final = "duplicates"
_BAR: Final = 6


class FacetList(StudioOptionList):
    """The bins of all facets, with the rows in each."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "keep these rows", id="prep.choose"),
        Binding("d,delete", "close", "close the facet", id="prep.close_facet"),
    ]

    class Chosen(Message):
        """A bin is to be chosen, or not any more."""

        def __init__(self, facet: int, key: str) -> None:
            super().__init__()
            self.facet = facet
            self.key = key

    class Closed(Message):
        """A facet is not wanted any more."""

        def __init__(self, facet: int) -> None:
            super().__init__()
            self.facet = facet

    @property
    def place(self) -> tuple[int, FacetBin] | None:
        """The number of the facet, and the bin that is highlighted; None without one."""
        if self.highlighted is None:
            return None
        option = self.get_option_at_index(self.highlighted)
        return option.value if isinstance(option, ValueOption) else None

    def show(self, views: Sequence[FacetView]) -> None:
        """Show facets; the highlight stays on its bin."""
        before = self.place
        options: list[Option] = []
        at: int | None = None
        for number, view in enumerate(views):
            options.append(Option(_format_heading(view), disabled=True))
            most = max((each.count for each in view.bins), default=1)
            for each in view.bins:
                if before is not None and (number, each.key) == (before[0], before[1].key):
                    at = len(options)
                options.append(ValueOption(format_bin(each, most), (number, each)))
        self.clear_options()
        self.add_options(options)
        first = next((n for n, each in enumerate(options) if not each.disabled), None)
        self.highlighted = first if at is None else at

    def go_to(self, facet: int) -> None:
        """Highlight the first bin of a facet."""
        for index in range(self.option_count):
            option = self.get_option_at_index(index)
            if isinstance(option, ValueOption) and option.value[0] == facet:
                self.highlighted = index
                return

    def action_choose(self) -> None:
        place = self.place
        if place is not None:
            self.post_message(self.Chosen(place[0], place[1].key))

    def action_close(self) -> None:
        place = self.place
        self.post_message(self.Closed(0 if place is None else place[0]))


def format_bin(bin: FacetBin, most: int) -> Content:
    """Return the line of a bin: a mark when its rows are kept, a bar, the rows, what they have."""
    cells = 0 if not bin.count else max(1, round(bin.count / max(1, most) * _BAR))
    label = sanitize_name(bin.label)
    return Content.assemble(
        ("● " if bin.is_chosen else "  ", "$text-success bold"),
        ("▇" * cells + " " * (_BAR - cells), "$text-success"),
        (f"{bin.count:>6,} ", MUTED),
        (label, "bold" if bin.is_chosen else ""),
    )


def _format_heading(view: FacetView) -> Content:
    kind = KINDS.get(view.kind, view.kind)
    name = sanitize_name(view.column or "all columns")
    more = f"\n  {view.problem}" if view.problem else ""
    return Content.assemble((name, "bold"), (f" {kind}", MUTED), (more, "$text-warning"))


def choose_bin(facet: Facet, key: str) -> Facet:
    """Return a facet that keeps the rows of a bin, too; or not any more."""
    chosen = [each for each in facet.chosen if each != key]
    return Facet(facet.column, facet.kind, chosen if key in facet.chosen else [*chosen, key])


def build_condition(views: Sequence[FacetView], place: tuple[int, FacetBin]) -> str | None:
    """Return the condition of the rows that all chosen bins keep; those of one bin when none is chosen.

    None when an expression cannot say it.
    """
    parts = []
    for view in views:
        chosen = [each for each in view.bins if each.is_chosen]
        if chosen:
            parts.append([each.condition for each in chosen])
    if not parts:
        return place[1].condition
    written = []
    for conditions in parts:
        known = [each for each in conditions if each is not None]
        if len(known) < len(conditions):
            return None
        written.append(known[0] if len(known) == 1 else " || ".join(f"({each})" for each in known))
    return written[0] if len(written) == 1 else " && ".join(f"({each})" for each in written)


def build_directives(condition: str) -> list[tuple[str, str]]:
    """Return what can become of the rows of a condition, each with its directive."""
    return [
        ("Keep only these rows", f"filter-row exp:{{{condition}}} false"),
        ("Drop these rows", f"filter-row exp:{{{condition}}} true"),
        ("Send these rows to error", f"send-to-error exp:{{{condition}}}"),
    ]


def build_rules(condition: str) -> list[tuple[str, Expectation]]:
    """Return what can be expected of the rows of a condition, each with its rule."""
    return [
        ("Expect that all rows are like these", MeetsCondition(condition=condition)),
        ("Expect that there are no such rows", MeetsCondition(condition=f"!({condition})")),
    ]
