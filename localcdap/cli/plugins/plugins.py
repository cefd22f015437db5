"""``localcdap plugins``, ``plugin``, ``call``, ``templates``, ``capabilities`` and ``artifacts``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from localcdap.api.capability import normalize_capability
from localcdap.api.errors import BadRequestError, DocumentError
from localcdap.api.metadata import MetadataEntity, MetadataScope
from localcdap.artifacts.model import (
    SYSTEM,
    SYSTEM_NAMESPACE,
    ArtifactSelector,
    CapabilityCount,
    PluginInfo,
    PluginSummary,
)
from localcdap.cli.errors import NO
from localcdap.cli.files import read_pipeline
from localcdap.cli.options import (
    Instance,
    arguments_option,
    flag,
    instance_options,
    pairs_option,
    parse_pairs,
    repeatable,
)
from localcdap.cli.output import echo, print_json, print_table, secho
from localcdap.text import nearest_name, plural

if TYPE_CHECKING:
    from localcdap.api.config import PluginProperty
    from localcdap.host import Cdap
    from localcdap.pipeline.document.model import PipelineDocument
    from localcdap.pipeline.recordings.wanted import WantedPlugin
    from localcdap.pipeline.validation.plugins import PluginTemplate


_STAND_INS: Final = {
    "recording": "a recording",
    "pass": "a placeholder: pass",
    "skip": "a placeholder: skip",
    None: "nothing",
}


def show_wanted(instance: Instance, paths: Sequence[Path]) -> None:
    """Print the plugins that pipelines in files and folders use and that are not installed.

    :raises BadRequestError: when there is no pipeline among the files.
    """
    pipelines = dict(_read_pipelines(paths))
    if not pipelines:
        raise BadRequestError("There is no pipeline among these files.", "Name pipeline files.")
    with instance.connect() as cdap:
        plugins = cdap.artifacts.list_plugins(instance.namespace)
        templates = cdap.templates.list_templates(instance.namespace)
    known = {(each.type, each.name) for each in plugins}
    known |= {(each.plugin_type, each.name) for each in templates}
    from localcdap.pipeline.recordings.wanted import rank_wanted_plugins

    found = rank_wanted_plugins(pipelines, known)
    if instance.print_json(found):
        return
    if found:
        header = ("files", "alone", "type", "plugin", "what can stand in for it")
        print_table(header, list(map(_format_wanted, found)), numbers="files alone")
    complete = len(pipelines) - len({file for each in found for file in each.files})
    echo(f"{complete} of {plural(len(pipelines), 'pipeline')} have all of their plugins here.")


def _read_pipelines(paths: Sequence[Path]) -> Iterator[tuple[str, PipelineDocument]]:
    """Yield the pipelines by file; a file of a folder that is not a pipeline is named on stderr."""
    for path in paths:
        if not path.is_dir():
            yield str(path), read_pipeline(str(path))
            continue
        for file in sorted(path.rglob("*.json")):
            try:
                yield str(file), read_pipeline(str(file))
            except DocumentError as error:
                echo(f"Left out: {error.message}", err=True)


def _format_wanted(wanted: WantedPlugin) -> tuple[object, ...]:
    stand_in = _STAND_INS[wanted.stand_in]
    return len(wanted.files), len(wanted.sole_files), wanted.type, wanted.name, stand_in


_artifact_option = click.option(
    "--artifact",
    metavar="NAME[:VERSION]",
    default="",
    help="The artifact of the plugin; VERSION may be a range. Default: the newest with the plugin.",
)


def _select_artifact(text: str, scope: str | None = None) -> ArtifactSelector:
    """Return what ``NAME`` or ``NAME:VERSION`` selects."""
    name, _, version = text.partition(":")
    return ArtifactSelector(scope, name, version)


@click.command("plugins")
@click.option(
    "--type", "type_", metavar="T", help="Only plugins of this type, for instance transform."
)
@repeatable(
    "--capability",
    "capabilities",
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
@repeatable(
    "--tag",
    "tags",
    metavar="TAG",
    help="Only plugins that users gave this tag, see 'localcdap metadata'; repeat it to require several.",
)
@flag(
    "--wanted",
    help="Rank the plugins that pipelines in FILES use and that are not installed: how many use them, how "
    "many lack nothing else, and what can stand in for them.",
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@flag("--all-versions", help="List every version, not only the newest.")
@instance_options
def plugins_command(
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
    with instance.connect() as cdap:
        plugins = cdap.artifacts.list_plugins(
            instance.namespace,
            type=type_,
            capabilities=list(capabilities),
            all_versions=all_versions,
            artifact=_select_artifact(artifact or "", scope),
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
        print_table(
            ("type", "name", "artifact", "what it does"), [_format_plugin(p) for p in plugins]
        )
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


def _format_plugin(plugin: PluginSummary) -> tuple[str, str, str, str]:
    artifact = f"{plugin.artifact.name} {plugin.artifact.version}"
    if isinstance(plugin, TemplateSummary):
        artifact = f"template of {plugin.template_of}"
    return plugin.type, plugin.name, artifact, plugin.description.split(". ")[0]


@click.command("plugin")
@click.argument("type_", metavar="TYPE")
@click.argument("name")
@_artifact_option
@click.option(
    "--scope",
    type=click.Choice(["SYSTEM", "USER"], case_sensitive=False),
    help="Only a shipped plugin (SYSTEM), or only a plugin of the plugin folders (USER).",
)
@instance_options
def plugin_command(
    instance: Instance, type_: str, name: str, artifact: str, scope: str | None
) -> None:
    """Describe a plugin or a plugin template: its properties, methods and capabilities.

    TYPE is the type of the plugin, for instance batchsource; 'localcdap plugins' lists types and names.

    Example: localcdap plugin batchsource File
    """
    selector = _select_artifact(artifact, scope)
    from localcdap.pipeline.validation.plugins import index_templates

    with instance.connect() as cdap:
        templates = index_templates(cdap.templates.list_templates(instance.namespace))
        template = templates.get((type_, name))
        if template is not None:
            name, selector = template.plugin_name, template.artifact
        info = cdap.artifacts.get_plugin(instance.namespace, type_, name, selector)
    if template is not None:
        info = _apply_template(info, template)
    instance.print(info, _print_plugin)


def _apply_template(info: PluginInfo, template: PluginTemplate) -> PluginInfo:
    """Return the plugin with the name of a template and the template's values as defaults."""
    properties = dict(info.properties)
    for name in template.properties.keys() & properties.keys():
        value = template.properties[name]
        properties[name] = msgspec.structs.replace(properties[name], required=False, default=value)
    described = template.description or info.description
    locked = f" Locked: {', '.join(template.locked)}." if template.locked else ""
    return msgspec.structs.replace(
        info,
        name=template.name,
        description=f"A template of {info.name}. {described}{locked}",
        properties=properties,
    )


def _print_plugin(info: PluginInfo) -> None:
    secho(f"{info.name}", bold=True, nl=False)
    echo(f"  {info.type} of {info.artifact.name} {info.artifact.version}")
    echo(textwrap.fill(info.description, 88))
    echo(f"Capable of: {', '.join(info.capabilities)}")
    for prop in info.properties.values():
        echo()
        secho(prop.name, bold=True, nl=False)
        echo(f"  {_format_kind(prop)}")
        echo(textwrap.indent(textwrap.fill(prop.description, 84), "    "))
        if prop.addition:
            echo(f"    Data Fusion has no such property: {prop.addition}")
    for method in info.methods:
        echo()
        secho(f"{method.name}", bold=True, nl=False)
        echo(f"  method, see 'localcdap call {info.type} {info.name} {method.name}'")
        echo(textwrap.indent(textwrap.fill(method.description, 84), "    "))
        if method.request is not None:
            echo(f"    Request: {json.dumps(method.request)}")


def _format_kind(prop: PluginProperty) -> str:
    """Return the type, default and choices of a property in one line."""
    parts = [prop.type, "required" if prop.required else "optional"]
    if prop.default is not None:
        parts.append(f"default {prop.default}")
    if prop.choices:
        parts.append("one of " + ", ".join(prop.choices))
    if prop.macro_supported:
        parts.append("macros")
    return ", ".join(parts)


@click.command("templates")
@click.argument("action", type=click.Choice(["list", "create", "show", "delete"]), default="list")
@click.argument("name", required=False)
@click.option(
    "--type", "type_", metavar="T", help="The type of the plugin, for instance batchsource."
)
@click.option("--plugin", metavar="NAME", help="The plugin of the template (create).")
@click.option(
    "--artifact", metavar="NAME[:VERSION]", default="", help="The artifact of the plugin (create)."
)
@pairs_option("-p", "values", help="Set a property; repeatable (create).")
@repeatable(
    "--lock", "locked", metavar="K", help="Prevent stages from changing the property K (create)."
)
@click.option("--description", metavar="TEXT", default="", help="The description (create).")
@flag("--replace", help="Replace an existing template of that name (create).")
@instance_options
def templates_command(
    instance: Instance,
    action: str,
    name: str | None,
    type_: str | None,
    plugin: str | None,
    artifact: str,
    values: tuple[str, ...],
    locked: tuple[str, ...],
    description: str,
    replace: bool,
) -> None:
    """List the plugin templates, or create, show or delete the template NAME.

    A plugin template is a plugin with preset properties. A stage whose plugin has the name of a template
    uses the template's plugin and properties. The stage may set other properties and change those that
    are not locked. Deployed and exported pipelines name the plugin itself.
    """
    if action == "list":
        _list(instance)
        return
    if name is None:
        raise click.UsageError(f"The name is missing: localcdap templates {action} NAME")
    if action == "create":
        if type_ is None or plugin is None:
            raise click.UsageError("The plugin is missing: --type T --plugin NAME")
        artifact_name, _, version = artifact.partition(":")
        from localcdap.pipeline.validation.plugins import PluginTemplate

        template = PluginTemplate(
            name,
            type_,
            plugin,
            parse_pairs(values),
            list(locked),
            ArtifactSelector(None, artifact_name or None, version or None),
            description,
        )
        with instance.connect() as cdap:
            cdap.templates.save(instance.namespace, template, replace)
        _print_outcome(instance, template, f"Template '{name}' of {type_} {plugin} created.")
        return
    with instance.connect() as cdap:
        if action == "delete":
            found = cdap.templates.delete(instance.namespace, name, type_)
            text = f"Template '{name}' deleted."
        else:
            found = cdap.templates.get(instance.namespace, name, type_)
            text = ""
    _print_outcome(instance, found, text)


def _print_outcome(instance: Instance, template: PluginTemplate, text: str) -> None:
    if instance.json:
        print_json(template)
    elif text:
        echo(text)
    else:
        _print_template(template)


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.templates.list_templates(instance.namespace)
    instance.print_list(
        found,
        ("type", "name", "plugin", "properties", "description"),
        lambda t: (
            t.plugin_type,
            t.name,
            t.plugin_name,
            ", ".join(_list_properties(t)),
            t.description,
        ),
        empty="No templates yet. Create one with 'localcdap templates create NAME'.",
    )


def _list_properties(template: PluginTemplate) -> list[str]:
    return [f"{name} (locked)" if name in template.locked else name for name in template.properties]


def _print_template(template: PluginTemplate) -> None:
    secho(template.name, bold=True, nl=False)
    echo(f"  a template of {template.plugin_type} {template.plugin_name}")
    if template.description:
        echo(template.description)
    rows = list(zip(_list_properties(template), template.properties.values(), strict=True))
    print_table(("property", "value"), rows)


@click.command("capabilities")
@instance_options
def capabilities_command(instance: Instance) -> None:
    """List the capabilities and how many plugins have each.

    A capability says what a plugin is able to do or where it can run, for instance mode_native or PII.
    Settings and compute profiles require capabilities. The setting 'plugin.capabilities.known' lists
    those that plugins declare besides the predefined ones; others give a warning. 'localcdap plugins
    --capability NAME' lists the plugins that have one.
    """
    with instance.connect() as cdap:
        counts = cdap.artifacts.list_capabilities(instance.namespace)
    instance.print_list(
        counts,
        ("capability", "plugins", "defined by"),
        lambda each: (each.capability, each.plugins, _describe_origin(each)),
        numbers="plugins",
    )


def _describe_origin(count: CapabilityCount) -> str:
    if count.system:
        return "system"
    return "plugins" if count.known else "plugins; not in plugin.capabilities.known"


@click.command("artifacts")
@flag("--errors", help="List only the artifacts that have errors.")
@flag(
    "--retry", help="First inspect the artifacts with errors again, for instance after pip install."
)
@instance_options
def artifacts_command(instance: Instance, errors: bool, retry: bool) -> None:
    """List the artifacts of the namespace and of the system, with their load errors.

    An artifact is a file, folder or wheel with plugins or a system application, in a plugin folder. The
    numbers of plugins leave out plugins that lack a capability which the setting
    plugin.required.capabilities requires.
    """
    with instance.connect() as cdap:
        if retry:
            cdap.artifacts.sync(retry_errors=True)
        artifacts = cdap.artifacts.list_artifacts(instance.namespace, errors=errors)
    if instance.print_json(artifacts):
        return
    if not artifacts:
        echo("No artifact has an error." if errors else "No artifacts.", err=True)
        return
    rows = [
        (a.name, a.version, a.scope, len(a.plugins), len(a.applications), a.path) for a in artifacts
    ]
    print_table(
        ("name", "version", "scope", "plugins", "apps", "path"), rows, numbers="plugins apps"
    )
    for artifact in artifacts:
        if artifact.error:
            secho(f"\n{artifact.path}", fg="red", bold=True)
            echo(artifact.error)
        if artifact.warnings:
            secho(f"\n{artifact.path}", fg="yellow", bold=True)
            echo("\n".join(artifact.warnings))


@click.command("call")
@click.argument("type_", metavar="TYPE")
@click.argument("name")
@click.argument("method")
@click.option(
    "--request", metavar="JSON", help="The request; '@FILE' reads it from a file, '-' from stdin."
)
@pairs_option("-p", "properties", help="Set a property of the plugin; repeatable.")
@arguments_option
@_artifact_option
@instance_options
def call_command(
    instance: Instance,
    type_: str,
    name: str,
    method: str,
    request: str | None,
    properties: tuple[str, ...],
    arguments: tuple[str, ...],
    artifact: str,
) -> None:
    """Call METHOD of a plugin and print its answer, which is JSON.

    TYPE and NAME are those of the plugin. 'localcdap plugin TYPE NAME' lists its methods and their requests.

    Example: localcdap call transform Wrangler directives
    """
    from localcdap.pipeline.methods import MethodCall, MethodPlugin

    call = MethodCall(
        MethodPlugin(type_, name, _select_artifact(artifact), parse_pairs(properties, "-p")),
        method,
        _decode_request(request),
        instance.namespace,
        parse_pairs(arguments, "-a"),
    )
    with instance.connect() as cdap:
        result = cdap.methods.call(call)
    print_json(result.answer)


def _decode_request(request: str | None) -> Any:
    if request is None:
        return None
    if request == "-" or request.startswith("@"):
        from localcdap.cli.records import read_json

        return read_json(request.removeprefix("@"))
    try:
        return json.loads(request)
    except ValueError as error:
        raise BadRequestError(
            f"The request is not JSON: {error}.", 'Write it like \'{"database": "sales"}\'.'
        ) from None
