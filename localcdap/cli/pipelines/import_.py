"""``localcdap import FILE``: deploy a pipeline file into a namespace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from localcdap.cli.errors import NO
from localcdap.cli.files import read_json, read_text
from localcdap.cli.options import Instance, fix_option, instance_options
from localcdap.cli.output import echo, print_failures, print_json, secho
from localcdap.pipeline.library.application_model import (
    Deployment,
    DeployRequest,
    check_application_name,
)
from localcdap.pipeline.library.draft_model import Draft, DraftRequest
from localcdap.pipeline.library.hub import (
    SPEC,
    create_packaged_document,
    is_package,
    read_package,
)
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.api.dataset.definition import DatasetChange
    from localcdap.host import Cdap


class PackageImport(msgspec.Struct):
    """The result of importing a package of the hub."""

    label: str
    deployments: list[Deployment]
    drafts: list[Draft]
    notes: list[str]


@click.command("import")
@click.argument("file")
@click.option(
    "--name", metavar="NAME", help="The name of the pipeline; default: the name in the file."
)
@fix_option
@click.option(
    "--based-on",
    metavar="V",
    help="The version that FILE is based on; rejected when a newer version is deployed.",
)
@click.option("--change", metavar="TEXT", help="The description of the change in this version.")
@instance_options
def command(
    instance: Instance,
    file: str,
    name: str | None,
    fix: bool,
    based_on: str | None,
    change: str | None,
) -> int:
    """Deploy the pipeline in FILE ('-' is standard input) as a new version of the pipeline of that name.

    A pipeline with failures is not deployed. FILE is an export of CDAP 3 to 6 or Data Fusion, or the
    spec.json (or the folder) of a package of the CDAP Hub, whose pipelines are then deployed.
    'localcdap export NAME' writes the JSON of a deployed pipeline.
    """
    request = DeployRequest(
        None, instance.namespace, name, fix=fix, change=change, parent_version=based_on
    )
    source = _find_package(file)
    with instance.connect() as cdap:
        if source is not None:
            return _import_package(instance, cdap, source, request)
        answer = cdap.applications.deploy(
            msgspec.structs.replace(
                request,
                document=read_text(file),
                file=file,
                fallback_name=None if file == "-" else Path(file).stem,
            )
        )
    if instance.json:
        print_json(answer)
    else:
        _print(answer)
    return 0 if answer.application is not None else NO


def _find_package(file: str) -> Path | None:
    """Return the specification file of a hub package, or None when the file is not one."""
    path = Path(file)
    if path.is_dir():
        return path / SPEC
    return path if path.name == SPEC and is_package(read_json(file)) else None


def _import_package(instance: Instance, cdap: Cdap, source: Path, request: DeployRequest) -> int:
    package = read_package(read_json(str(source)), str(source))
    if request.name is not None and len(package.pipelines) > 1:
        raise click.UsageError(
            f"--name names one pipeline; this package has {len(package.pipelines)}."
        )
    answer = PackageImport(package.label, [], [], package.notes)
    files = [str(source.parent / pipeline.file) for pipeline in package.pipelines]
    # Every file is read and every name checked before anything is deployed.
    configs = [read_json(file) for file in files]
    for pipeline in package.pipelines:
        if not pipeline.is_draft:
            check_application_name(request.name or pipeline.name)
    for pipeline, file, config in zip(package.pipelines, files, configs, strict=True):
        document = create_packaged_document(pipeline, config)
        if pipeline.is_draft:
            kept = DraftRequest(document, request.name or pipeline.name, file=file)
            answer.drafts.append(cdap.drafts.save(request.namespace, kept))
        else:
            deployment = msgspec.structs.replace(request, document=document, file=file)
            answer.deployments.append(cdap.applications.deploy(deployment))
    if instance.json:
        print_json(answer)
    else:
        for note in answer.notes:
            echo(note, err=True)
        for each in answer.deployments:
            _print(each)
        for draft in answer.drafts:
            echo(f"{draft.name}: saved as a draft, revision {draft.revision}")
    return 0 if all(each.application for each in answer.deployments) else NO


def _print(answer: Deployment) -> None:
    _print_lines("converted from an older form", answer.upgrades)
    _print_lines("changed", [str(each) for each in (*answer.repairs, *answer.templates)])
    application = answer.application
    if application is None:
        print_failures(answer.errors)
        secho(
            f"{answer.name}: {plural(len(answer.errors), 'failure')}; not deployed",
            fg="red",
            bold=True,
        )
        if not answer.repairs and any(problem.repair for problem in answer.problems):
            echo("The option --fix replaces missing versions with installed ones.")
        return
    if answer.problems and not answer.repairs:
        count = plural(len(answer.problems), "stage")
        echo(
            f"The plugin versions of {count} stay ranges; --fix replaces them with installed versions."
        )
    print_failures(answer.warnings, warnings=True)
    _print_lines("datasets", [_describe(each) for each in answer.datasets])
    secho(f"{application.name}: deployed as version {application.number}", fg="green", bold=True)


def _describe(change: DatasetChange) -> str:
    return f"'{change.name}' created" if change.is_new else f"'{change.name}': {change.describe()}"


def _print_lines(heading: str, lines: Sequence[str]) -> None:
    if lines:
        secho(heading, bold=True)
        for line in lines:
            echo(f"  {line}")
