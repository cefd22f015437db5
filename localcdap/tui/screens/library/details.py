"""What is told of a deployed pipeline, a draft, a template."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from localcdap.pipeline.document.model import App, PipelineDocument
from localcdap.pipeline.library.draft_model import Draft
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.tui.screens.library.shelf import Opened
from localcdap.tui.words import plural

_MUTED = "$foreground 60%"


def told(opened: Opened) -> Content:
    """Everything but the versions."""
    item = opened.item
    if isinstance(item, PluginTemplate):
        return _joined(
            _title(item.name, f"template of {item.plugin_type} {item.plugin_name}"),
            item.description,
            Content("\n").join(_properties(item)),
        )
    kind = "draft" if isinstance(item, Draft) else "deployed"
    document = opened.document
    assert document is not None
    streaming = "real-time " if document.app is App.STREAMING else ""
    return _joined(
        _title(item.name, f"{kind} {streaming}pipeline, {plural(len(document.stages), 'stage')}"),
        item.description or "",
        Content("\n").join(_stages(document)),
    )


def _stages(document: PipelineDocument) -> Iterator[Content]:
    width = max((len(stage.name) for stage in document.stages), default=0)
    for stage in (*document.stages, *document.post_actions):
        artifact = stage.plugin.artifact
        version = f" {artifact.version}" if artifact is not None and artifact.version else ""
        plugin = f"{stage.plugin.type} {stage.plugin.name}{version}"
        yield Content.assemble(f"{stage.name:<{width}}  ", Content.styled(plugin, _MUTED))


def _properties(template: PluginTemplate) -> Iterator[Content]:
    width = max(map(len, template.properties), default=0)
    for name, value in template.properties.items():
        locked = "  locked" if name in template.locked else ""
        yield Content.assemble(
            Content.styled(f"{name:<{width}}  ", _MUTED),
            value,
            Content.styled(locked, "$text-accent"),
        )


def _title(name: str, kind: str) -> Content:
    return Content.assemble(Content.styled(name, "bold"), Content.styled(f"  {kind}", _MUTED))


def _joined(*parts: Content | str) -> Content:
    contents = [Content(part) if isinstance(part, str) else part for part in parts]
    return Content("\n\n").join(part for part in contents if part.plain)
