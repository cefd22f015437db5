"""``localcdap plugin TYPE NAME``: describe one plugin and its properties."""

from __future__ import annotations

import json
import textwrap

import click
import msgspec

from localcdap.api.config import PluginProperty
from localcdap.artifacts.model import ArtifactSelector, PluginInfo
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, secho
from localcdap.pipeline.validation.plugin_templates import PluginTemplate, index_templates


@click.command("plugin")
@click.argument("type_", metavar="TYPE")
@click.argument("name")
@click.option(
    "--artifact",
    metavar="NAME[:VERSION]",
    default="",
    help="The artifact of the plugin; VERSION may be a range. Default: the newest with the plugin.",
)
@click.option(
    "--scope",
    type=click.Choice(["SYSTEM", "USER"], case_sensitive=False),
    help="Only a shipped plugin (SYSTEM), or only a plugin of the plugin folders (USER).",
)
@instance_options
def command(instance: Instance, type_: str, name: str, artifact: str, scope: str | None) -> None:
    """Describe a plugin or a plugin template: its properties, methods and capabilities.

    TYPE is the type of the plugin, for instance batchsource; 'localcdap plugins' lists types and names.

    Example: localcdap plugin batchsource File
    """
    artifact_name, _, version = artifact.partition(":")
    selector = ArtifactSelector(scope, artifact_name, version)
    with instance.connect() as cdap:
        templates = index_templates(cdap.templates.list_templates(instance.namespace))
        template = templates.get((type_, name))
        if template is not None:
            name, selector = template.plugin_name, template.artifact
        info = cdap.artifacts.get_plugin(instance.namespace, type_, name, selector)
    if template is not None:
        info = _apply_template(info, template)
    if instance.json:
        print_json(info)
    else:
        _print(info)


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


def _print(info: PluginInfo) -> None:
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
