"""``localcdap plugins``: list the plugins that pipelines can use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from localcdap.api.capability import normalize_capability
from localcdap.api.metadata import MetadataEntity, MetadataScope
from localcdap.artifacts.model import SYSTEM, SYSTEM_NAMESPACE, ArtifactSelector, PluginSummary
from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_table
from localcdap.cli.plugins.wanted import show_wanted
from localcdap.pipeline.validation.plugin_templates import PluginTemplate
from localcdap.text import nearest_name

if TYPE_CHECKING:
    from localcdap.host import Cdap


@click.command("plugins")
@click.option(
    "--type", "type_", metavar="T", help="Only plugins of this type, for instance transform."
)
@click.option(
    "--capability",
    "capabilities",
    multiple=True,
    metavar="C",
    help="Only plugins with the capability C; repeat it to require several.",
)
@click.option(
    "--artifact",
    metavar="NAME[:VERSION]",
    help="Only plugins of this artifact; VERSION may be a range. With cdap-data-pipeline or "
    "cdap-data-streams: the plugins that such pipelines can use.",
)
@click.option(
    "--scope",
    type=click.Choice(["SYSTEM", "USER"], case_sensitive=False),
    help="Only shipped plugins (SYSTEM), or only plugins of the plugin folders (USER).",
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="Only plugins that users gave this tag, see 'localcdap metadata'; repeat it to require several.",
)
@click.option(
    "--wanted",
    is_flag=True,
    help="Rank the plugins that pipelines in FILES use and that are not installed: how many use them, how "
    "many lack nothing else, and what can stand in for them.",
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--all-versions", is_flag=True, help="List every version, not only the newest.")
@instance_options
def command(
    instance: Instance,
    type_: str | None,
    capabilities: tuple[str, ...],
    artifact: str | None,
    scope: str | None,
    tags: tuple[str, ...],
    wanted: bool,
    files: tuple[Path, ...],
    all_versions: bool,
) -> int:
    """List the plugins that pipelines of the namespace can use, each in its newest version, and the
    templates of these plugins. With --wanted, FILES are pipeline files and folders of them.
    """
    if wanted != bool(files):
        raise click.UsageError("Name the pipelines: localcdap plugins --wanted FILES…")
    if wanted:
        show_wanted(instance, files)
        return 0
    name, _, version = (artifact or "").partition(":")
    with instance.connect() as cdap:
        plugins = cdap.artifacts.list_plugins(
            instance.namespace,
            type=type_,
            capabilities=list(capabilities),
            all_versions=all_versions,
            artifact=ArtifactSelector(scope, name, version),
        )
        if tags:
            plugins = list(_select_tagged(cdap, instance.namespace, plugins, tags))
        templates = cdap.templates.list_templates(instance.namespace)
        counts = cdap.artifacts.list_capabilities(instance.namespace) if capabilities else []
    plugins = sorted(
        [*plugins, *_summarize_templates(templates, plugins)],
        key=lambda each: (each.type, each.name),
    )
    if instance.json:
        print_json(plugins)
    elif plugins:
        print_table(("type", "name", "artifact", "what it does"), [_format_row(p) for p in plugins])
    else:
        echo("No plugin matches.", err=True)
        known = [each.capability for each in counts]
        for name in set(map(normalize_capability, capabilities)).difference(known):
            nearest = nearest_name(name, known)
            echo(
                f"No plugin has the capability '{name}'"
                + (f"; the nearest is '{nearest}'." if nearest else "."),
                err=True,
            )
    return 0 if plugins else NO


def _select_tagged(
    cdap: Cdap, namespace: str, plugins: list[PluginSummary], tags: tuple[str, ...]
) -> Iterator[PluginSummary]:
    """Yield the plugins that have all tags."""
    from localcdap.metadata.search import ALL, SearchRequest

    query = " ".join(f"+tags:{tag}" for tag in tags)
    found = cdap.metadata.search(
        SearchRequest(query, MetadataScope.USER, types=["plugin"], limit=ALL)
    )
    tagged = {each.entity for each in found.results if set(tags) <= set(each.metadata.user.tags)}
    for plugin in plugins:
        artifact = plugin.artifact
        owner = SYSTEM_NAMESPACE if artifact.scope == SYSTEM else namespace
        entity = MetadataEntity.of_artifact(artifact.name, artifact.version, owner)
        if MetadataEntity({**entity.details, "type": plugin.type, "plugin": plugin.name}) in tagged:
            yield plugin


class TemplateSummary(PluginSummary, rename="camel"):
    """A template in a list of plugins."""

    template_of: str
    """The name of the plugin."""


def _summarize_templates(
    templates: list[PluginTemplate], plugins: list[PluginSummary]
) -> Iterator[PluginSummary]:
    """Yield a summary for each template of a listed plugin."""
    known = {(plugin.type, plugin.name): plugin for plugin in plugins}
    for template in templates:
        plugin = known.get((template.plugin_type, template.plugin_name))
        if plugin is not None:
            described = template.description or plugin.description
            changed = msgspec.structs.replace(plugin, name=template.name, description=described)
            yield TemplateSummary(
                **msgspec.structs.asdict(changed), template_of=template.plugin_name
            )


def _format_row(plugin: PluginSummary) -> tuple[str, str, str, str]:
    artifact = f"{plugin.artifact.name} {plugin.artifact.version}"
    if isinstance(plugin, TemplateSummary):
        artifact = f"template of {plugin.template_of}"
    return plugin.type, plugin.name, artifact, plugin.description.split(". ")[0]
