"""``localcdap new plugin NAME``: scaffold an artifact with a plugin and its tests."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path

import click

from localcdap.api.errors import ConflictError
from localcdap.artifacts.model import DEFAULT_NAMESPACE
from localcdap.authoring.artifact import list_plugin_types, write_artifact
from localcdap.authoring.names import Names, derive_names
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, secho
from localcdap.home import find_home
from localcdap.settings import load_settings


@click.group("new")
def command() -> None:
    """Scaffold the source code of a plugin.

    Example: localcdap new plugin CleanText --type transform
    """


@command.command("plugin", short_help="Scaffold an artifact with a plugin and its tests.")
@click.argument("name")
@click.option(
    "--type",
    "type_",
    type=click.Choice(list_plugin_types()),
    default="transform",
    show_default=True,
    help="The type of the plugin.",
)
@click.option(
    "--directory",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to; default: the instance's plugin folder.",
)
@instance_options
def plugin(instance: Instance, name: str, type_: str, directory: Path | None) -> None:
    """Scaffold an artifact with a working plugin NAME, its documentation, a test without Spark and a
    test with Spark. NAME is the name of its Python class, for instance CleanText.

    Without --directory, the artifact is written to the plugin folder, and the instance lists the plugin
    at once.
    """
    names = derive_names(name)
    plugin_folder = _find_plugin_folder(instance)
    parent = plugin_folder if directory is None else directory.absolute()
    _reject_taken_names(instance, names, type_)
    folder = write_artifact(names, type_, parent)
    if instance.json:
        print_json({"artifact": names.artifact, "type": type_, "name": name, "path": str(folder)})
    else:
        _print_next_steps(
            folder, f"{type_} {names.plugin}", plugin_folder, _format_instance_options(instance)
        )


def _find_plugin_folder(instance: Instance) -> Path:
    """Return the first plugin folder of the instance, for its namespace."""
    settings = load_settings(instance.home.settings_file)
    folder = instance.home.resolve(next(iter(settings.plugin_directories), "plugins"))
    return folder if instance.namespace == DEFAULT_NAMESPACE else folder / instance.namespace


def _reject_taken_names(instance: Instance, names: Names, type_: str) -> None:
    """Raise an error when the name is taken.

    :raises ConflictError: when the instance has a plugin or an artifact of the name.
    :raises NotFoundError: when the namespace does not exist.
    """
    with instance.connect() as cdap:
        plugins = cdap.artifacts.list_plugins(instance.namespace, type=type_)
        artifacts = cdap.artifacts.list_artifacts(instance.namespace)
    for each in plugins:
        if each.name == names.plugin:
            raise ConflictError(
                f"There is a {type_} '{each.name}' already, in artifact {each.artifact.name} "
                f"{each.artifact.version}.",
                "Choose another name.",
            )
    if any(artifact.name == names.artifact for artifact in artifacts):
        raise ConflictError(
            f"There is an artifact '{names.artifact}' already.", "Choose another name."
        )


def _format_instance_options(instance: Instance) -> str:
    """Return the options with which further commands use the same instance and namespace."""
    options = ""
    if instance.home.path != find_home(None).path:
        options += f" --home {shlex.quote(str(instance.home.path))}"
    if instance.namespace != DEFAULT_NAMESPACE:
        options += f" --namespace {instance.namespace}"
    return options


def _print_next_steps(folder: Path, plugin: str, plugin_folder: Path, options: str) -> None:
    echo(f"Written to {folder}:")
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        echo(f"  {file.relative_to(folder)}")
    python, artifact = shlex.quote(sys.executable), shlex.quote(str(folder))
    secho("Run its tests:", bold=True)
    if importlib.util.find_spec("pytest") is None:
        echo(f"  {python} -m pip install pytest")
    echo(f"  {python} -m pytest {artifact}")
    secho("See it in the instance:", bold=True)
    if folder.parent != plugin_folder:
        target = shlex.quote(str(plugin_folder))
        echo(f"  mkdir -p {target} && cp -r {artifact} {target}")
    echo(f"  localcdap plugins{options}")
    echo(f"  localcdap plugin {plugin}{options}")
