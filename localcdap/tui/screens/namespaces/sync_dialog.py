"""The dialog that synchronizes a namespace with a folder: what changes, and a choice for each conflict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localcdap.host.cdap import Cdap
from localcdap.sync.merge import Side
from localcdap.sync.model import Conflict, SyncAction, SyncOutcome, SyncPlan
from localcdap.sync.synchronizer import Synchronizer
from localcdap.sync.texts import format_conflict_side, list_questions
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.dialogs.dialog_screen import DialogScreen, create_title
from localcdap.tui.labels import sanitize_name
from localcdap.tui.lists import FilteredList, ListEntry

_SIGNS: Final = {SyncAction.ADD: "+", SyncAction.CHANGE: "~", SyncAction.DELETE: "-"}
_SIDES: Final = {Side.MINE: "instance", Side.THEIRS: "folder"}
_MOST_LETTERS: Final = 2000


class SyncDialog(DialogScreen[None]):
    """Shows what a synchronization will do, lets its user solve conflicts, and makes it."""

    DEFAULT_CSS = """
    SyncDialog > #dialog { width: 110; height: 34; max-height: 92%; }
    SyncDialog VerticalScroll { height: auto; max-height: 12; margin-top: 1; }
    SyncDialog #sync-detail { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "choose('mine')", "take the instance's", id="sync.mine"),
        Binding("t", "choose('theirs')", "take the folder's", id="sync.theirs"),
        Binding("M", "choose_all('mine')", "all: the instance's", id="sync.all_mine", show=False),
        Binding("T", "choose_all('theirs')", "all: the folder's", id="sync.all_theirs", show=False),
        Binding("r", "compare", "compare again", id="sync.compare"),
        Binding("s", "synchronize", "synchronize", id="sync.synchronize"),
        Binding("q", "dismiss_empty", "back", show=False),
    ]
    AUTO_FOCUS = "FilteredListOptions"
    HAS_FOOTER = True

    def __init__(self, namespace: str, folder: Path) -> None:
        super().__init__()
        self._namespace = namespace
        self._folder = folder
        self._choices: dict[str, Side] = {}
        self._plan: SyncPlan | None = None

    def compose_body(self) -> ComposeResult:
        folder = sanitize_name(str(self._folder))
        yield create_title(f"Synchronize {self._namespace}", folder)
        yield FilteredList(can_filter=False, empty="Comparing …")
        with VerticalScroll(can_focus=False):
            yield Static(id="sync-detail")

    def on_mount(self) -> None:
        self.action_compare()

    def explain_disabled(self, action: str) -> str | None:
        """Return why a key does nothing now; None when it works."""
        plan = self._plan
        if action in ("choose", "choose_all", "synchronize") and plan is None:
            return "the folder is being compared"
        if plan is None:
            return None
        if action == "choose" and self._highlighted is None:
            return "no conflict is highlighted"
        if action == "choose_all" and not plan.conflicts:
            return "there are no conflicts"
        if action == "synchronize":
            return self._explain_refusal(plan)
        return None

    def _explain_refusal(self, plan: SyncPlan) -> str | None:
        left = sum(each.address not in self._choices for each in plan.conflicts)
        if plan.problems:
            return f"solve {plural(len(plan.problems), 'problem')} first"
        if left:
            return f"choose a side in {plural(left, 'conflict')} first: m or t"
        return "nothing differs" if plan.is_empty else None

    # -- actions ---------------------------------------------------------------------------------

    def action_choose(self, side: str) -> None:
        conflict = self._highlighted
        if conflict is not None:
            self._choices[conflict.address] = Side(side)
            self._show()
            self.query_one(FilteredList).move(1)

    def action_choose_all(self, side: str) -> None:
        for conflict in self._plan.conflicts if self._plan is not None else ():
            self._choices[conflict.address] = Side(side)
        self._show()

    def action_compare(self) -> None:
        namespace, folder = self._namespace, self._folder
        self.call(
            lambda cdap: Synchronizer(cdap.sync, namespace, folder).plan(),
            on_result=self._take_plan,
            group="sync",
        )

    @work
    async def action_synchronize(self) -> None:
        shown = self._plan
        reason = self.explain_disabled("synchronize")
        if shown is None or reason is not None:
            self.studio.explain_no_effect(reason or "", "synchronize")
            return
        plan = await self.call_and_wait(self._plan_again)
        if plan.problems or plan.conflicts or not _has_seen(shown, plan):
            self._take_plan(plan)
            self.studio.show_notice("More has changed meanwhile.", "Look again.", "warning")
            return
        questions = sanitize_for_terminal("\n".join(list_questions(plan)))
        if questions and not await self.studio.confirm("Go on?", questions, "Go on"):
            return
        outcome = await self.call_and_wait(lambda cdap: self._apply(cdap, plan))
        self._show_outcome(plan, outcome)

    def _plan_again(self, cdap: Cdap) -> SyncPlan:
        synchronizer = Synchronizer(cdap.sync, self._namespace, self._folder)
        return synchronizer.plan(choices=self._choices)

    def _apply(self, cdap: Cdap, plan: SyncPlan) -> SyncOutcome:
        synchronizer = Synchronizer(cdap.sync, self._namespace, self._folder)
        with synchronizer.hold():
            return synchronizer.apply(plan)

    # -- showing ---------------------------------------------------------------------------------

    def _take_plan(self, plan: SyncPlan) -> None:
        self._plan = plan
        self._choices = {
            each.address: self._choices[each.address]
            for each in plan.conflicts
            if each.address in self._choices
        }
        self._show()

    def _show_outcome(self, plan: SyncPlan, outcome: SyncOutcome) -> None:
        if outcome.problems:
            plan.problems = outcome.problems
            self._take_plan(plan)
            self.studio.show_notice("Nothing was changed.", "See the problems.", "warning")
            return
        changes = len(plan.instance) - len(outcome.held)
        held = "\n".join(f"{each.title} waits: {each.reason}" for each in outcome.held)
        self.studio.show_notice(
            f"Synchronized: {plural(changes, 'change')} in the instance, "
            f"{plural(len(plan.files), 'file')}.",
            sanitize_for_terminal(held),
        )
        self.dismiss(None)

    def _show(self) -> None:
        if self._plan is not None:
            entries = list(_list_entries(self._plan, self._choices))
            self.query_one(FilteredList).set_entries(entries, empty="Nothing differs.")
        self._show_detail()

    @on(FilteredList.Highlighted)
    def _show_detail(self) -> None:
        conflict, detail = self._highlighted, Content("")
        key = self.query_one(FilteredList).key or ""
        if conflict is not None:
            detail = _format_conflict(conflict)
        elif self._plan is not None and key.startswith("problem "):
            problem = self._plan.problems[int(key.removeprefix("problem "))]
            text = f"{problem.message}\n{problem.corrective_action or ''}".strip()
            detail = Content(sanitize_for_terminal(text))
        self.query_one("#sync-detail", Static).update(detail)

    @property
    def _highlighted(self) -> Conflict | None:
        key = self.query_one(FilteredList).key
        found = self._plan.conflicts if self._plan is not None else ()
        return next((each for each in found if f"conflict {each.address}" == key), None)


def _has_seen(shown: SyncPlan, plan: SyncPlan) -> bool:
    """Return whether each change of a plan was shown, as a change or as a conflict."""

    def list_titles(each: SyncPlan) -> set[str]:
        return {change.title for change in each.instance} | {file.title for file in each.files}

    return list_titles(plan) <= list_titles(shown) | {each.entity for each in shown.conflicts}


def _list_entries(plan: SyncPlan, choices: Mapping[str, Side]) -> Iterator[ListEntry]:
    for index, problem in enumerate(plan.problems):
        yield _build_entry(f"problem {index}", problem.message, "✗", "", "problems")
    for conflict in plan.conflicts:
        side = choices.get(conflict.address)
        where = f"  {conflict.where}" if conflict.where else ""
        hint = f"takes the {_SIDES[side]}'s" if side is not None else "m or t"
        mark = "✓" if side is not None else "!"
        key = f"conflict {conflict.address}"
        yield _build_entry(key, f"{conflict.entity}{where}", mark, hint, "conflicts")
    for change in plan.instance:
        sign = _SIGNS[change.action]
        yield _build_entry(f"i {change.entity}", change.title, sign, change.action, "instance")
    for file in plan.files:
        hint = file.action if file.is_canonical else f"{file.action}, layout will be lost"
        yield _build_entry(f"f {file.entity}", file.path, _SIGNS[file.action], hint, "folder")


def _build_entry(key: str, label: str, mark: str, hint: str, group: str) -> ListEntry:
    return ListEntry(key, sanitize_name(label), mark, hint, group)


def _format_conflict(conflict: Conflict) -> Content:
    lines = []
    for label, value in (
        ("before", conflict.base),
        ("instance", conflict.mine),
        ("folder", conflict.theirs),
    ):
        text = sanitize_for_terminal(format_conflict_side(value, _MOST_LETTERS))
        lines.append(Content.assemble((f"{label:<10}", "$foreground 60%"), text))
    return Content("\n").join(lines)
