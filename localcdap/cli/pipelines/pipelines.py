"""``localcdap pipelines``, ``drafts``, ``import`` and ``export``: the pipelines that a namespace stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from localcdap.cli.errors import NO
from localcdap.cli.files import read_json, read_text, split_version
from localcdap.cli.options import Instance, fix_option, flag, instance_options
from localcdap.cli.output import (
    echo,
    print_failures,
    print_json,
    print_json_text,
    print_table,
    secho,
)
from localcdap.files.atomic import write_file
from localcdap.text import format_time, plural

if TYPE_CHECKING:
    from localcdap.api.dataset.definition import DatasetChange
    from localcdap.api.pipeline import PipelineSpec
    from localcdap.host import Cdap
    from localcdap.pipeline.library.application_model import (
        Application,
        Deployment,
        DeployRequest,
        Draft,
        DraftRequest,
    )


@click.command("pipelines")
@click.argument("action", type=click.Choice(["list", "show", "versions", "delete"]), default="list")
@click.argument("name", required=False, metavar="[NAME[@VERSION]]")
@click.option("--filter", "part", metavar="TEXT", help="Only names that contain TEXT (list).")
@instance_options
def pipelines_command(instance: Instance, action: str, name: str | None, part: str | None) -> None:
    """List the deployed pipelines, show one, list its versions, or delete it with all its versions.

    'localcdap import' deploys a pipeline, 'localcdap run NAME' runs it. VERSION is the number of a
    version or the beginning of its id; the default is the latest version. The runs of a deleted pipeline
    are kept.
    """
    if action == "list":
        with instance.connect() as cdap:
            found = cdap.applications.list_applications(instance.namespace, name_filter=part)
        _print_list(instance, found)
        return
    if name is None:
        raise click.UsageError(f"The name is missing: localcdap pipelines {action} NAME")
    if action == "show":
        _show(instance, *split_version(name))
    elif action == "versions":
        with instance.connect() as cdap:
            _print_versions(instance, cdap.applications.list_versions(instance.namespace, name))
    else:
        with instance.connect() as cdap:
            deleted = cdap.applications.delete(instance.namespace, name)
        instance.print(deleted, f"Pipeline '{name}' deleted, {plural(deleted.number, 'version')}.")


def _print_list(instance: Instance, found: list[Application]) -> None:
    instance.print_list(
        found,
        ("name", "version", "kind", "deployed", "description"),
        lambda a: (
            a.name,
            a.number,
            _get_kind(a),
            format_time(a.change.creation_time_millis),
            a.description,
        ),
        empty="No pipelines yet. Deploy one with 'localcdap import FILE'.",
        numbers="version",
    )


def _get_kind(application: Application) -> str:
    return "streaming" if application.artifact.name == "cdap-data-streams" else "batch"


def _print_versions(instance: Instance, found: list[Application]) -> None:
    instance.print_list(
        found,
        ("version", "id", "deployed", "by", "change"),
        lambda a: (
            a.number,
            a.version,
            format_time(a.change.creation_time_millis),
            a.change.author,
            a.change.description,
        ),
        numbers="version",
    )


def _show(instance: Instance, name: str, version: str | None) -> None:
    with instance.connect() as cdap:
        found = cdap.applications.describe(instance.namespace, name, version)
        runs = cdap.runs.list_runs(instance.namespace, pipeline=name, limit=1)
    if instance.print_json(found):
        return
    secho(found.name, bold=True, nl=False)
    latest = ", the latest" if found.change.latest else ""
    echo(f"  {_get_kind(found)} pipeline, version {found.number}{latest} ({found.version})")
    if found.description:
        echo(found.description)
    change = f": {found.change.description}" if found.change.description else ""
    echo(
        f"Deployed {format_time(found.change.creation_time_millis)} by {found.change.author}{change}"
    )
    for run in runs:
        echo(f"Last run {format_time(run.starting)}: {run.status} ({run.run})")
    artifacts = _find_artifacts(found.spec)
    print_table(
        ("stage", "type", "plugin", "artifact"),
        [(p.id, p.type, p.name, artifacts.get(p.id)) for p in found.plugins],
    )


def _find_artifacts(spec: PipelineSpec | None) -> dict[str, str]:
    """Return name and version of the artifact of each stage and post action, as they were deployed."""
    if spec is None:
        return {}
    plugins = {each.name: each.plugin for each in spec.stages}
    plugins |= {each.name: each.plugin for each in spec.ending_actions}
    return {name: f"{each.artifact.name} {each.artifact.version}" for name, each in plugins.items()}


_ACTIONS = ["list", "save", "show", "revisions", "restore", "delete"]


@click.command("drafts")
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("target", required=False, metavar="[FILE|NAME]")
@click.option(
    "--name", metavar="NAME", help="The name of the draft (save); default: the name in FILE."
)
@click.option("--description", metavar="TEXT", help="The description (save).")
@click.option(
    "--based-on",
    type=click.IntRange(min=1),
    metavar="N",
    help="The revision that FILE is based on (save).",
)
@click.option("--revision", type=int, metavar="N", help="The number of a revision (show, restore).")
@click.option(
    "--sort",
    "sort_by",
    default="name",
    metavar="COLUMN",
    show_default=True,
    help="The column by which the list is ordered, such as name or updatedTimeMillis (list).",
)
@flag("--descending", help="Reverse the order (list).")
@click.option("--filter", "part", metavar="TEXT", help="Only names that contain TEXT (list).")
@instance_options
def drafts_command(
    instance: Instance,
    action: str,
    target: str | None,
    name: str | None,
    description: str | None,
    based_on: int | None,
    revision: int | None,
    sort_by: str,
    descending: bool,
    part: str | None,
) -> None:
    """List the drafts; save FILE ('-' is standard input) as a draft; show the JSON of a draft; list its
    revisions; restore an earlier revision; or delete the draft.

    A draft is an unfinished pipeline, which may be invalid. Each save adds a revision; 'localcdap diff
    draft:NAME@1 draft:NAME' compares two revisions. With --based-on, a save is rejected when the draft
    has a newer revision.
    """
    if action == "list":
        _list(instance, sort_by, descending, part)
        return
    if target is None:
        what = (
            "The file is missing: localcdap drafts save FILE"
            if action == "save"
            else f"The name is missing: localcdap drafts {action} NAME"
        )
        raise click.UsageError(what)
    if action == "save":
        from localcdap.pipeline.library.application_model import DraftRequest

        request = DraftRequest(None, name, description, revision=based_on)
        _print_outcome(instance, _save(instance, target, request), "saved")
    elif action == "show":
        with instance.connect() as cdap:
            print_json_text(cdap.drafts.export(instance.namespace, target, revision))
    elif action == "revisions":
        _list_revisions(instance, target)
    elif action == "restore":
        if revision is None:
            raise click.UsageError("The revision is missing: --revision N")
        with instance.connect() as cdap:
            restored = cdap.drafts.restore(instance.namespace, target, revision)
        _print_outcome(instance, restored, f"restored from revision {revision}")
    else:
        with instance.connect() as cdap:
            deleted = cdap.drafts.delete(instance.namespace, target)
        _print_outcome(instance, deleted, "deleted")


def _save(instance: Instance, file: str, request: DraftRequest) -> Draft:
    request.document, request.file = read_text(file), file
    request.fallback_name = None if file == "-" else Path(file).stem
    with instance.connect() as cdap:
        return cdap.drafts.save(instance.namespace, request)


def _print_outcome(instance: Instance, draft: Draft, what: str) -> None:
    if instance.json:
        print_json(draft)
    elif what == "deleted":
        echo(f"Draft '{draft.name}' deleted, {plural(draft.revision, 'revision')}.")
    else:
        echo(f"Draft '{draft.name}' {what}, now at revision {draft.revision}.")


def _list(instance: Instance, sort_by: str, descending: bool, part: str | None) -> None:
    with instance.connect() as cdap:
        found = cdap.drafts.list_drafts(
            instance.namespace,
            sort_by=sort_by,
            sort_order="DESC" if descending else "ASC",
            filter=part,
        )
    instance.print_list(
        found,
        ("name", "revision", "saved", "id", "description"),
        lambda d: (d.name, d.revision, format_time(d.updated_time_millis), d.id, d.description),
        empty="No drafts yet. Save one with 'localcdap drafts save FILE'.",
        numbers="revision",
    )


def _list_revisions(instance: Instance, name: str) -> None:
    with instance.connect() as cdap:
        found = cdap.drafts.list_revisions(instance.namespace, name)
    instance.print_list(
        found,
        ("revision", "saved", "name", "hash"),
        lambda d: (d.revision, format_time(d.updated_time_millis), d.name, d.hash[:12]),
        numbers="revision",
    )


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
def import_command(
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
    from localcdap.pipeline.library.application_model import DeployRequest

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
    instance.print(answer, _print)
    return 0 if answer.application is not None else NO


def _find_package(file: str) -> Path | None:
    """Return the specification file of a hub package, or None when the file is not one."""
    from localcdap.pipeline.library.hub import SPEC, is_package

    path = Path(file)
    if path.is_dir():
        return path / SPEC
    return path if path.name == SPEC and is_package(read_json(file)) else None


def _import_package(instance: Instance, cdap: Cdap, source: Path, request: DeployRequest) -> int:
    from localcdap.pipeline.library.application_model import DraftRequest, check_application_name
    from localcdap.pipeline.library.hub import create_packaged_document, read_package

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
    if not instance.print_json(answer):
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


@click.command("export")
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--version", metavar="V", help="The number or id of a version; default: the latest.")
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write; default: standard output.",
)
@flag("--upgraded", help="Convert the JSON of an older CDAP to that of CDAP 6.")
@instance_options
def export_command(
    instance: Instance, name: str, version: str | None, output: Path | None, upgraded: bool
) -> None:
    """Write the JSON of a deployed pipeline, including keys that localcdap does not know.

    The name in the JSON is NAME, also when the imported file had another one. CDAP and Data Fusion can
    import the file. Properties that they ignore are listed on standard error.
    """
    application, asked = split_version(name)
    with instance.connect() as cdap:
        text = cdap.applications.export(instance.namespace, application, version or asked, upgraded)
        ignored = cdap.studio.find_ignored_properties(text, instance.namespace)
    print_failures(ignored, to_stderr=True, warnings=True)
    if output is None:
        print_json_text(text)
        return
    write_file(output, text + "\n")
    echo(f"Written to {output}", err=True)
