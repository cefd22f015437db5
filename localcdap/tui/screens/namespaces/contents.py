"""What a namespace contains: counts, and the names of the first resources of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from textual.content import Content

from localcdap.artifacts.model import USER
from localcdap.host.cdap import Cdap
from localcdap.namespaces.model import Namespace
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.text import plural, sanitize_for_terminal

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
    """The names of the resources by kind; those of runs are the names of their pipelines."""
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
    names: dict[str, Sequence[str]] = {
        "deployed pipeline": [each.name for each in cdap.applications.list_applications(name)],
        "draft": [each.name for each in cdap.drafts.list_drafts(name)],
        "template": [each.name for each in cdap.templates.list_templates(name)],
        "schedule": [f"{each.application} {each.name}" for each in schedules],
        "run": [f"{each.pipeline} {each.count:,}" for each in runs],
        "table": [each.name for each in cdap.tables.list_tables(name)],
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


def format_contents(contents: ContentCounts, *, is_current: bool) -> Content:
    """Return name, description, counts, names and settings of a namespace as text.

    The names of a kind are on one line, which the widget cuts at its width.
    """
    namespace = contents.namespace
    muted = "$foreground 60%"
    current = "  current namespace" if is_current else ""
    lines = [
        Content.assemble(
            Content.styled(namespace.name, "bold"), Content.styled(current, "$text-accent")
        ),
        Content(namespace.description),
        Content(""),
    ]
    for noun, count in contents.counts.items():
        label = plural(count, noun).partition(" ")[2]
        names = ", ".join(contents.names[noun][:_MOST_NAMES])
        lines.append(
            Content.assemble(
                (f"{count:>7,}  {label:<{_LABEL}}", "" if count else muted),
                (sanitize_for_terminal(names, single_line=True), muted),
            )
        )
    facts = {"default profile": contents.default_profile, **namespace.config}
    lines += [
        Content(""),
        *(
            Content.assemble(Content.styled(f"{name}  ", muted), text)
            for name, text in facts.items()
        ),
    ]
    return Content("\n").join(lines)
