"""``localcdap jobs``: list, show and stop the jobs of system applications, and show their logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from localcdap.api.errors import NotFoundError
from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import StyledText, echo, print_json, print_list, secho
from localcdap.text import format_duration, format_time

if TYPE_CHECKING:
    from localcdap.api.app.jobs import JobDetail
    from localcdap.host.cdap import Cdap

_ACTIONS: Final = ["list", "show", "log", "stop"]
_LAST: Final = "last"
_SHORT: Final = 8
"""The characters of an id in the list."""
_COLOURS: Final = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}


@click.command("jobs")
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("job", required=False)
@click.option("--application", metavar="NAME", help="Only jobs of this application (list).")
@click.option("--follow", "-f", is_flag=True, help="Wait for the end: show new lines, too (log).")
@instance_options
def command(
    instance: Instance, action: str, job: str | None, application: str | None, follow: bool
) -> None:
    """List the jobs of system applications, newest first; show one, show its log, or stop it.

    A job is work of an application on Spark, such as the training of a model. It waits in a queue, and goes
    on when no command or studio is open. JOB is its id, the beginning of its id, or 'last'. The exit code of
    'show' is 1 for a job that has failed or was stopped.
    """
    if action == "list":
        _list(instance, application)
        return
    if job is None:
        raise click.UsageError(f"The job is missing: localcdap jobs {action} JOB")
    with instance.connect() as cdap:
        found = _find(cdap, instance.namespace, job)
        if action == "log":
            _print_log(cdap, instance, found, follow=follow)
        elif action == "stop":
            _print_stopped(instance, cdap.jobs.stop(found.id))
        else:
            _show(instance, found)


def _find(cdap: Cdap, namespace: str, asked: str) -> JobDetail:
    """Return a job by its id, the beginning of its id, or 'last'.

    :raises NotFoundError: when there is none, or several begin so.
    """
    jobs = cdap.jobs.list_jobs(namespace)
    found = jobs[:1] if asked == _LAST else [each for each in jobs if each.id.startswith(asked)]
    if len(found) == 1:
        return found[0]
    reason = f"Several jobs begin with '{asked}'." if found else f"There is no job '{asked}'."
    raise NotFoundError(reason, "List them with: localcdap jobs")


def _list(instance: Instance, application: str | None) -> None:
    with instance.connect() as cdap:
        found = cdap.jobs.list_jobs(instance.namespace, application)
    print_list(
        found,
        ("job", "status", "application", "title", "submitted", "took"),
        lambda each: (
            each.id[:_SHORT],
            _format_status(each),
            each.application,
            each.title,
            format_time(each.submitted),
            _format_duration(each),
        ),
        as_json=instance.json,
        empty="No jobs. Applications such as ModelManagementApp submit them.",
    )


def _format_status(job: JobDetail) -> str:
    if job.position:
        return f"{job.status}, {job.position} in the queue"
    fraction = job.progress.fraction
    return job.status if fraction is None else f"{job.status}, {fraction:.0%}"


def _format_duration(job: JobDetail) -> str:
    if job.started is None or job.ended is None:
        return ""
    return format_duration(job.started, job.ended)


def _show(instance: Instance, job: JobDetail) -> None:
    if instance.json:
        print_json(job)
    else:
        secho(job.title, bold=True)
        facts = [
            ("job", job.id),
            ("application", job.application),
            ("status", _format_status(job)),
            ("doing", job.progress.message),
            ("profile", job.profile),
            ("submitted", format_time(job.submitted)),
            ("took", _format_duration(job)),
        ]
        for name, value in facts:
            if value:
                echo(f"{name:12} {value}")
        if job.error:
            secho(job.error, fg="red")
            echo(job.corrective_action or "")
    if job.has_ended and job.status != "COMPLETED":
        raise click.exceptions.Exit(1)


def _print_log(cdap: Cdap, instance: Instance, job: JobDetail, *, follow: bool) -> None:
    lines = cdap.jobs.read_log(job.id)
    if instance.json:
        print_json(lines)
        return
    seen = 0
    while True:
        for line in lines:
            level = StyledText(f"{line.level:7}", _COLOURS.get(line.level))
            echo(f"{format_time(line.time)} ", level, f" {line.text}")
            seen = line.number
        if job.has_ended or not follow:
            return
        job = cdap.jobs.wait(job.id, 1.0)
        lines = cdap.jobs.read_log(job.id, seen)


def _print_stopped(instance: Instance, job: JobDetail) -> None:
    if instance.json:
        print_json(job)
    else:
        echo(f"{job.title} {job.id}: {job.status}")
