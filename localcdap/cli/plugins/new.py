"""``localcdap new``: scaffold an artifact with a plugin or a dataset type, and its tests."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localcdap.api.errors import ConflictError
from localcdap.artifacts.model import DEFAULT_NAMESPACE
from localcdap.authoring.artifact import (
    DATASET,
    Names,
    derive_names,
    list_plugin_types,
    write_artifact,
)
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, secho
from localcdap.home import find_home
from localcdap.settings import load_settings

if TYPE_CHECKING:
    from localcdap.host import Cdap


_directory_option = click.option(
    "--directory",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to; default: the instance's plugin folder.",
)


@click.group("new")
def new_command() -> None:
    """Scaffold the source code of a plugin or a dataset type.

    Example: localcdap new plugin CleanText --type transform
    """


@new_command.command("plugin", short_help="Scaffold an artifact with a plugin and its tests.")
@click.argument("name")
@click.option(
    "--type",
    "type_",
    type=click.Choice(list_plugin_types()),
    default="transform",
    show_default=True,
    help="The type of the plugin.",
)
@_directory_option
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
    with instance.connect() as cdap:
        taken = cdap.artifacts.list_plugins(instance.namespace, type=type_)
        for each in taken:
            if each.name == names.plugin:
                where = f"{each.artifact.name} {each.artifact.version}"
                raise _create_taken_error(type_, each.name, where)
        _reject_taken_artifact(cdap, instance, names)
    folder = write_artifact(names, type_, parent)
    if not instance.print_json(
        {"artifact": names.artifact, "type": type_, "name": name, "path": str(folder)}
    ):
        commands = ["localcdap plugins", f"localcdap plugin {type_} {names.plugin}"]
        _print_next_steps(folder, commands, plugin_folder, _format_instance_options(instance))


@new_command.command(
    "dataset", short_help="Scaffold an artifact with a dataset type and its tests."
)
@click.argument("name")
@_directory_option
@instance_options
def dataset(instance: Instance, name: str, directory: Path | None) -> None:
    """Scaffold an artifact with a working dataset type NAME, its documentation and its tests. NAME is the
    name of its Python class too, for instance DailyRates.

    Without --directory, the artifact is written to the plugin folder, and the instance lists the type at
    once.
    """
    names = derive_names(name)
    plugin_folder = _find_plugin_folder(instance)
    with instance.connect() as cdap:
        for each in cdap.datasets.list_types(instance.namespace):
            if each.name == names.plugin:
                raise _create_taken_error("dataset type", each.name, each.artifact)
        _reject_taken_artifact(cdap, instance, names)
    parent = plugin_folder if directory is None else directory.absolute()
    folder = write_artifact(names, DATASET, parent)
    if not instance.print_json({"artifact": names.artifact, "type": name, "path": str(folder)}):
        commands = ["localcdap datasets types"]
        _print_next_steps(folder, commands, plugin_folder, _format_instance_options(instance))


def _find_plugin_folder(instance: Instance) -> Path:
    """Return the first plugin folder of the instance, for its namespace."""
    settings = load_settings(instance.home.settings_file)
    folder = instance.home.resolve(next(iter(settings.plugin_directories), "plugins"))
    return folder if instance.namespace == DEFAULT_NAMESPACE else folder / instance.namespace


def _create_taken_error(kind: str, name: str, artifact: str | None) -> ConflictError:
    where = f", in artifact {artifact}" if artifact is not None else ""
    return ConflictError(f"There is a {kind} '{name}' already{where}.", "Choose another name.")


def _reject_taken_artifact(cdap: Cdap, instance: Instance, names: Names) -> None:
    """Raise an error when the instance has an artifact of the name.

    :raises ConflictError: when it has.
    :raises NotFoundError: when the namespace does not exist.
    """
    artifacts = cdap.artifacts.list_artifacts(instance.namespace)
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


def _print_next_steps(
    folder: Path, commands: Sequence[str], plugin_folder: Path, options: str
) -> None:
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
    for each in commands:
        echo(f"  {each}{options}")
