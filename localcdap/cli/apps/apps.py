"""``localcdap apps [NAME [METHOD PATH]]``: list, describe and call the system applications."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localcdap.cli.options import Instance, instance_options
from localcdap.cli.output import echo, print_json, print_list, secho
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.apps.model import AppAnswer, AppDetail, AppSummary

_METHODS = ("GET", "POST", "PUT", "DELETE")
_SCALE = "scale"


@click.command("apps")
@click.argument("name", required=False)
@click.argument("method", metavar="[METHOD]", required=False, type=click.STRING)
@click.argument("path", required=False)
@click.option(
    "--query", "-q", multiple=True, metavar="K=V", help="Set a query parameter; repeatable."
)
@click.option(
    "--body",
    "-b",
    metavar="JSON",
    help="The body, as JSON; @FILE reads it from a file, @- from standard input.",
)
@click.option(
    "--header", "-H", "headers", multiple=True, metavar="K=V", help="Set a header; repeatable."
)
@click.option(
    "--service", metavar="S", help="The service to call or scale, if the application has several."
)
@click.option(
    "--instances", type=int, metavar="N", help="How many processes answer its calls (scale)."
)
@instance_options
def command(
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
        _list(instance)
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
        _print(answer, as_json=instance.json)
        if answer.status >= 400:
            raise click.exceptions.Exit(1)


def _scale(
    instance: Instance, name: str | None, service: str | None, instances: int | None
) -> None:
    if name is None or instances is None:
        raise click.UsageError("Write: localcdap apps scale NAME --instances N")
    with instance.connect() as cdap:
        found = cdap.apps.scale(name, service, instances)
    if instance.json:
        print_json(found)
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


def _print(answer: AppAnswer, *, as_json: bool) -> None:
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


def _list(instance: Instance) -> None:
    with instance.connect() as cdap:
        found = cdap.apps.list_applications()
    print_list(
        found,
        ("name", "artifact", "running", "instances", "description"),
        lambda each: (
            each.name,
            f"{each.artifact.name} {each.artifact.version}",
            "yes" if each.running else "",
            _format_instances(each),
            each.description,
        ),
        as_json=instance.json,
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
    if instance.json:
        print_json(app)
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
