"""``localcdap templates``: manage plugin templates, which are plugins with preset properties."""

from __future__ import annotations

import click

from localcdap.artifacts.model import ArtifactSelector
from localcdap.cli.options import Instance, instance_options, parse_pairs
from localcdap.cli.output import echo, print_json, print_list, print_table, secho
from localcdap.pipeline.validation.plugin_templates import PluginTemplate


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
@click.option(
    "-p", "values", multiple=True, metavar="K=V", help="Set a property; repeatable (create)."
)
@click.option(
    "--lock",
    "locked",
    multiple=True,
    metavar="K",
    help="Prevent stages from changing the property K (create).",
)
@click.option("--description", metavar="TEXT", default="", help="The description (create).")
@click.option("--replace", is_flag=True, help="Replace an existing template of that name (create).")
@instance_options
def command(
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
        _print(template)


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.templates.list_templates(instance.namespace)
    print_list(
        found,
        ("type", "name", "plugin", "properties", "description"),
        lambda t: (
            t.plugin_type,
            t.name,
            t.plugin_name,
            ", ".join(_list_properties(t)),
            t.description,
        ),
        as_json=instance.json,
        empty="No templates yet. Create one with 'localcdap templates create NAME'.",
    )


def _list_properties(template: PluginTemplate) -> list[str]:
    return [f"{name} (locked)" if name in template.locked else name for name in template.properties]


def _print(template: PluginTemplate) -> None:
    secho(template.name, bold=True, nl=False)
    echo(f"  a template of {template.plugin_type} {template.plugin_name}")
    if template.description:
        echo(template.description)
    rows = list(zip(_list_properties(template), template.properties.values(), strict=True))
    print_table(("property", "value"), rows)
