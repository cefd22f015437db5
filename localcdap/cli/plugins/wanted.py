"""``localcdap plugins --wanted FILES…``: what a set of pipelines lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from localcdap.api.errors import BadRequestError, DocumentError
from localcdap.cli.files import read_pipeline
from localcdap.cli.options import Instance
from localcdap.cli.output import echo, print_json, print_table
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.recordings.wanted import WantedPlugin, rank_wanted_plugins
from localcdap.text import plural

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
    found = rank_wanted_plugins(pipelines, known)
    if instance.json:
        print_json(found)
        return
    if found:
        header = ("files", "alone", "type", "plugin", "what can stand in for it")
        print_table(header, list(map(_format_row, found)), numbers="files alone")
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


def _format_row(wanted: WantedPlugin) -> tuple[object, ...]:
    stand_in = _STAND_INS[wanted.stand_in]
    return len(wanted.files), len(wanted.sole_files), wanted.type, wanted.name, stand_in
