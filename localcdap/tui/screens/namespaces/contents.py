"""Counts what a namespace contains."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

from localcdap.artifacts.model import USER
from localcdap.host.cdap import Cdap
from localcdap.namespaces.model import Namespace
from localcdap.namespaces.preferences import PreferenceLevel
from localcdap.text import plural


@dataclass(frozen=True)
class ContentCounts:
    """A namespace with the number of its resources of each kind."""

    namespace: Namespace
    counts: dict[str, int]
    """The counts by kind, a noun in the singular."""
    default_profile: str

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def read_contents(cdap: Cdap, name: str) -> ContentCounts:
    """Count the contents of a namespace through the services."""
    runs = cdap.runs.list_by_pipeline(name, recent=1)
    artifacts = cdap.artifacts.list_artifacts(name, scope=USER)
    profiles = cdap.runs.list_profiles(name)
    return ContentCounts(
        cdap.namespaces.describe(name),
        {
            "deployed pipeline": len(cdap.applications.list_applications(name)),
            "draft": len(cdap.drafts.list_drafts(name)),
            "template": len(cdap.templates.list_templates(name)),
            "run": sum(each.count for each in runs),
            "table": len(cdap.tables.list_tables(name)),
            "artifact": sum(artifact.namespace == name for artifact in artifacts),
            "preference": len(cdap.preferences.get(PreferenceLevel(name))),
            "secure key": len(cdap.secure_keys.list_keys(name)),
            "connection": len(cdap.connections.list_connections(name)),
            "topic": len(cdap.messaging.list_topics(name)),
        },
        next((each.name for each in profiles if each.is_default), ""),
    )


def format_contents(contents: ContentCounts, *, is_current: bool) -> Content:
    """Return name, description, counts and settings of a namespace as text."""
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
        style = "" if count else muted
        lines.append(Content.styled(f"{count:>7,}  {plural(count, noun).partition(' ')[2]}", style))
    facts = {"default profile": contents.default_profile, **namespace.config}
    lines += [
        Content(""),
        *(
            Content.assemble(Content.styled(f"{name}  ", muted), text)
            for name, text in facts.items()
        ),
    ]
    return Content("\n").join(lines)
