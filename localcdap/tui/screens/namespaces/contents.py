"""What a namespace contains: counts, and the names of the first resources of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content

from localcdap.api.errors import UnauthorizedError
from localcdap.artifacts.model import USER
from localcdap.host.cdap import Cdap
from localcdap.namespaces.model import Namespace
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.text import plural, sanitize_for_terminal
from localcdap.tui.lists.filtered_list import ListEntry
from localcdap.tui.screens.details import MUTED

_LABEL: Final = 20
"""The width of the names of kinds, in cells."""
_MOST_NAMES: Final = 30


@dataclass(frozen=True)
class ContentCounts:
    """A namespace with the number of its resources of each kind."""

    namespace: Namespace
    counts: dict[str, int]
    """The counts by kind, a noun in the singular."""
    names: dict[str, Sequence[str]]
    """The names of the resources by kind; those of runs are the names of their pipelines. A dataset with a
    table of its name counts as a table.
    """
    default_profile: str

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def read_contents(cdap: Cdap, name: str) -> ContentCounts:
    """Read the contents of a namespace through the services."""
    runs = cdap.runs.list_by_pipeline(name, recent=1)
    artifacts = cdap.artifacts.list_artifacts(name, scope=USER)
    profiles = cdap.runs.list_profiles(name)
    schedules = [each.schedule for each in cdap.schedules.list_schedules(name)]
    tables = [each.name for each in cdap.tables.list_tables(name)]
    names: dict[str, Sequence[str]] = {
        "deployed pipeline": [each.name for each in cdap.applications.list_applications(name)],
        "draft": [each.name for each in cdap.drafts.list_drafts(name)],
        "template": [each.name for each in cdap.templates.list_templates(name)],
        "schedule": [f"{each.application} {each.name}" for each in schedules],
        "run": [f"{each.pipeline} {each.count:,}" for each in runs],
        "table": tables,
        "dataset": [each for each in _list_datasets(cdap, name) if each not in tables],
        "artifact": [each.name for each in artifacts if each.namespace == name],
        "preference": sorted(cdap.preferences.get(PreferenceLevel(name))),
        "secure key": [each.name for each in cdap.secure_keys.list_keys(name)],
        "connection": [each.name for each in cdap.connections.list_connections(name)],
        "topic": [each.name for each in cdap.messaging.list_topics(name)],
    }
    counts = {noun: len(found) for noun, found in names.items()}
    return ContentCounts(
        cdap.namespaces.describe(name),
        counts | {"run": sum(each.count for each in runs)},
        names,
        next((each.name for each in profiles if each.is_default), ""),
    )


def _list_datasets(cdap: Cdap, name: str) -> list[str]:
    """Return the datasets of a namespace; none when the user may not see them."""
    try:
        return [each.name for each in cdap.datasets.list_datasets(name)]
    except UnauthorizedError:
        return []


def format_namespace(contents: ContentCounts, *, is_current: bool) -> Content:
    """Return the name and the description of a namespace."""
    namespace = contents.namespace
    current = "  current namespace" if is_current else ""
    title = Content.assemble((namespace.name, "bold"), (current, "$text-accent"))
    text = sanitize_for_terminal(namespace.description)
    return Content.assemble(title, f"\n{text}" if text else "")


def format_facts(contents: ContentCounts) -> Content:
    """Return the settings of a namespace, one on each line."""
    facts = {"default profile": contents.default_profile, **contents.namespace.config}
    return Content("\n").join(
        Content.assemble((f"{name}  ", MUTED), sanitize_for_terminal(text, single_line=True))
        for name, text in facts.items()
    )


def build_entries(contents: ContentCounts) -> list[ListEntry]:
    """Return a line for each kind: how many there are, and the names of the first ones."""
    return [
        ListEntry(
            noun,
            _format_kind(noun, count, contents.names[noun]),
            tone="" if count else MUTED,
        )
        for noun, count in contents.counts.items()
    ]


def _format_kind(noun: str, count: int, names: Sequence[str]) -> str:
    label = plural(count, noun).partition(" ")[2]
    listed = sanitize_for_terminal(", ".join(names[:_MOST_NAMES]), single_line=True)
    return f"{count:>5,}  {label:<{_LABEL}}{listed}".rstrip()
