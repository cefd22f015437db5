"""``localcdap apps``, ``jobs`` and ``topics``: system applications, their jobs on Spark, and messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from localcdap.api.errors import NotFoundError
from localcdap.cli.options import Instance, flag, instance_options, pairs_option
from localcdap.cli.output import echo, print_facts, print_json, print_log_line, secho
from localcdap.text import format_duration, format_time, plural

if TYPE_CHECKING:
    from localcdap.api.app.jobs import JobDetail
    from localcdap.apps.model import AppAnswer, AppDetail, AppSummary
    from localcdap.host import Cdap
    from localcdap.messaging.topics import TopicMessage


_METHODS = ("GET", "POST", "PUT", "DELETE")
_SCALE = "scale"


@click.command("apps")
@click.argument("name", required=False)
@click.argument("method", metavar="[METHOD]", required=False, type=click.STRING)
@click.argument("path", required=False)
@pairs_option("--query", "-q", help="Set a query parameter; repeatable.")
@click.option(
    "--body",
    "-b",
    metavar="JSON",
    help="The body, as JSON; @FILE reads it from a file, @- from standard input.",
)
@pairs_option("--header", "-H", "headers", help="Set a header; repeatable.")
@click.option(
    "--service", metavar="S", help="The service to call or scale, if the application has several."
)
@click.option(
    "--instances", type=int, metavar="N", help="How many processes answer its calls (scale)."
)
@instance_options
def apps_command(
    instance: Instance,
    name: str | None,
    method: str | None,
    path: str | None,
    query: tuple[str, ...],
    body: str | None,
    headers: tuple[str, ...],
    service: str | None,
    instances: int | None,
) -> None:
    """List the system applications, describe the application NAME, call it, or scale one of its services.

    A system application is an artifact in 'plugins/system' of the instance's folder that answers HTTP
    requests. A call takes the method and the path of a request, and prints the body of the answer. The exit
    code is 0 for a status below 400, else 1.

    'localcdap apps scale NAME --instances N' gives a service N processes for its calls, also while calls are
    running; none is lost. The number is kept.

    \b
    localcdap apps
    localcdap apps notebook
    localcdap apps notebook GET /contexts/default/notes -q limit=10
    """  # noqa: D301
    if name == _SCALE:
        _scale(instance, method, service, instances)
    elif name is None:
        _list_apps(instance)
    elif method is None:
        _describe(instance, name)
    elif method.upper() not in _METHODS:
        raise click.UsageError(f"'{method}' is none of {', '.join(_METHODS)}.")
    elif path is None:
        raise click.UsageError(f"The path is missing: localcdap apps {name} {method} /PATH")
    else:
        from localcdap.apps.model import AppRequest

        request = AppRequest(
            method.upper(),
            path,
            _parse_pairs(query),
            _read_body(body),
            service,
            {name: values[-1] for name, values in _parse_pairs(headers).items()},
        )
        with instance.connect() as cdap:
            answer = cdap.apps.call(name, request)
        _print_answer(answer, as_json=instance.json)
        if answer.status >= 400:
            raise click.exceptions.Exit(1)


def _scale(
    instance: Instance, name: str | None, service: str | None, instances: int | None
) -> None:
    if name is None or instances is None:
        raise click.UsageError("Write: localcdap apps scale NAME --instances N")
    with instance.connect() as cdap:
        found = cdap.apps.scale(name, service, instances)
    if instance.print_json(found):
        return
    for each, count in found.instances.items():
        if service in (None, each):
            shown = plural(count.requested, "instance")
            echo(f"Service '{each}' of '{name}' has {shown} now, {count.running} running.")


def _parse_pairs(pairs: tuple[str, ...]) -> dict[str, str | list[str]]:
    """Return the values of each name, in a list since a name may be repeated."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"'{pair}' is not of the form KEY=VALUE.")
        found.setdefault(key, []).append(value)
    return dict(found)


def _read_body(given: str | None) -> bytes | None:
    if given is None:
        return None
    if not given.startswith("@"):
        return given.encode()
    if given == "@-":
        return sys.stdin.buffer.read()
    try:
        return Path(given[1:]).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{given[1:]} cannot be read: {error.strerror}.") from None


def _print_answer(answer: AppAnswer, *, as_json: bool) -> None:
    if as_json:
        print_json({"status": answer.status, "body": answer.body})
    elif isinstance(answer.body, bytes):
        if sys.stdout.isatty():
            echo(answer.body.decode(errors="replace"))
        else:
            sys.stdout.buffer.write(answer.body)
    elif answer.status >= 400:
        body = answer.body if isinstance(answer.body, dict) else {"message": answer.body}
        secho(f"{answer.status}: {body.get('message')}", fg="red", err=True)
        for line in body.get("stacktrace") or [body.get("correctiveAction")]:
            if line:
                echo(line, err=True)
    elif answer.body is not None:
        print_json(answer.body)


def _list_apps(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.apps.list_applications()
    instance.print_list(
        found,
        ("name", "artifact", "running", "instances", "description"),
        lambda each: (
            each.name,
            f"{each.artifact.name} {each.artifact.version}",
            "yes" if each.running else "",
            _format_instances(each),
            each.description,
        ),
        empty="No system applications. An artifact in 'plugins/system' of the instance's folder "
        "can have one.",
    )


def _format_instances(app: AppSummary) -> str:
    """Return the numbers of running and requested instances: ``1/2``; with names for several services."""
    counts = {name: f"{n.running}/{n.requested}" for name, n in app.instances.items()}
    if len(counts) == 1:
        return next(iter(counts.values()))
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _describe(instance: Instance, name: str) -> None:
    with instance.connect() as cdap:
        app = cdap.apps.describe(name)
    if instance.print_json(app):
        return
    secho(app.name, bold=True)
    echo(app.description)
    _describe_services(app)
    for listener in app.listeners:
        echo(f"\nlistener {listener.name}: {', '.join(listener.events)}")
        if listener.error:
            secho(f"  failed {listener.tries} times: {listener.error}", fg="red")


def _describe_services(app: AppDetail) -> None:
    for service in app.services:
        count = app.instances[service.name]
        shown = plural(count.requested, "instance")
        echo(f"\nservice {service.name}: {shown}, {count.running} running")
        for route in service.routes:
            query = f"?{'&'.join(route.query)}" if route.query else ""
            echo(f"  {route.method:6} {route.path}{query}")
        for table in service.tables:
            echo(f"  table {table.table} ({', '.join(table.primary_key)})")


_ACTIONS: Final = ["list", "show", "log", "stop"]
_LAST: Final = "last"
_SHORT: Final = 8
"""The characters of an id in the list."""


@click.command("jobs")
@click.argument("action", type=click.Choice(_ACTIONS), default="list")
@click.argument("job", required=False)
@click.option("--application", metavar="NAME", help="Only jobs of this application (list).")
@flag("--follow", "-f", help="Wait for the end: show new lines, too (log).")
@instance_options
def jobs_command(
    instance: Instance, action: str, job: str | None, application: str | None, follow: bool
) -> None:
    """List the jobs of system applications, newest first; show one, show its log, or stop it.

    A job is work of an application on Spark, such as the training of a model. It waits in a queue, and goes
    on when no command or studio is open. JOB is its id, the beginning of its id, or 'last'. The exit code of
    'show' is 1 for a job that has failed or was stopped.
    """
    if action == "list":
        _list_jobs(instance, application)
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
            _show_job(instance, found)


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


def _list_jobs(instance: Instance, application: str | None) -> None:
    with instance.connect() as cdap:
        found = cdap.jobs.list_jobs(instance.namespace, application)
    instance.print_list(
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


def _show_job(instance: Instance, job: JobDetail) -> None:
    if not instance.print_json(job):
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
        print_facts(facts)
        if job.error:
            secho(job.error, fg="red")
            echo(job.corrective_action or "")
    if job.has_ended and job.status != "COMPLETED":
        raise click.exceptions.Exit(1)


def _print_log(cdap: Cdap, instance: Instance, job: JobDetail, *, follow: bool) -> None:
    lines = cdap.jobs.read_log(job.id)
    if instance.print_json(lines):
        return
    seen = 0
    while True:
        for line in lines:
            print_log_line(format_time(line.time), line.level, f" {line.text}")
            seen = line.number
        if job.has_ended or not follow:
            return
        job = cdap.jobs.wait(job.id, 1.0)
        lines = cdap.jobs.read_log(job.id, seen)


def _print_stopped(instance: Instance, job: JobDetail) -> None:
    instance.print(job, f"{job.title} {job.id}: {job.status}")


_CREATE: Final = "create"
_DELETE: Final = "delete"
_WAIT_S: Final = 5.0
_PAGE: Final = 1000


@click.command("topics")
@click.argument("words", nargs=-1, metavar="[NAME | create NAME | delete NAME]")
@flag("--follow", help="Go on with the messages to come, until Ctrl+C.")
@instance_options
def topics_command(instance: Instance, words: tuple[str, ...], follow: bool) -> None:
    """List the topics of the namespace, or show the messages of the topic NAME, oldest first.

    The alert publisher TMS publishes alerts on a topic. A topic keeps its messages for a week. With --json
    each message is a line.

    localcdap topics alarms --follow
    """
    if follow and (not words or words[0] in (_CREATE, _DELETE)):
        raise click.UsageError("--follow needs the name of a topic.")
    if len(words) == 2 and words[0] in (_CREATE, _DELETE):
        _change(instance, *words)
    elif len(words) > 1:
        raise click.UsageError(f"Got unexpected extra argument ({words[1]}).")
    elif words:
        _show_topic(instance, words[0], follow=follow)
    else:
        _list_topics(instance)


def _list_topics(instance: Instance) -> None:
    with instance.connect() as cdap:
        topics = cdap.messaging.list_topics(instance.namespace)
    instance.print_list(
        topics,
        ("topic", "created"),
        lambda each: (each.name, format_time(each.created)),
        empty="No topics. Create one with 'localcdap topics create NAME'.",
    )


def _change(instance: Instance, what: str, name: str) -> None:
    with instance.connect() as cdap:
        if what == _CREATE:
            cdap.messaging.create_topic(instance.namespace, name)
        else:
            cdap.messaging.delete_topic(instance.namespace, name)
    echo(f"Topic '{name}' {what}d.", err=instance.json)


def _show_topic(instance: Instance, name: str, *, follow: bool) -> None:
    with instance.connect() as cdap:
        cdap.messaging.describe_topic(instance.namespace, name)
        after = 0
        while messages := _fetch(cdap, instance.namespace, name, after):
            _print_messages(messages, as_json=instance.json)
            after = messages[-1].id
        while follow:
            messages = _fetch(cdap, instance.namespace, name, after, _WAIT_S)
            _print_messages(messages, as_json=instance.json)
            after = messages[-1].id if messages else after


def _fetch(
    cdap: Cdap, namespace: str, name: str, after: int, wait_s: float = 0.0
) -> list[TopicMessage]:
    return cdap.messaging.fetch(namespace, name, after, _PAGE, wait_s)


def _print_messages(messages: Sequence[TopicMessage], *, as_json: bool) -> None:
    for message in messages:
        text = msgspec.json.encode(message if as_json else message.payload).decode()
        echo(text if as_json else f"{format_time(message.time)}  {text}")
