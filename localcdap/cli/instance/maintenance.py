"""``localcdap doctor``, ``engine``, ``backup`` and ``restore``: the state of an instance and its parts."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from localcdap.api.errors import LocalcdapError, SettingsError
from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, flag, instance_options
from localcdap.cli.output import StyledText, echo, print_table
from localcdap.home import Home, find_shipped_plugins
from localcdap.text import format_size, format_time, plural

if TYPE_CHECKING:
    from localcdap.host import Cdap
    from localcdap.metadata.service import SetAsideMetadata
    from localcdap.openlineage.delivery import DestinationStatus
    from localcdap.security.service import SecurityStatus
    from localcdap.settings import Profile, Settings


_LOW_DISK = 2 * 1024**3


class Finding(msgspec.Struct):
    """The result of one check."""

    what: str
    good: bool
    found: str
    fix: str | None = None
    """The corrective action; None when the check passed."""


class EffectiveSetting(msgspec.Struct):
    """A setting with its value and where the value comes from."""

    key: str
    value: object
    origin: str


class Diagnosis(msgspec.Struct):
    """The answer of ``--json``."""

    findings: list[Finding]
    settings: list[EffectiveSetting]
    repairs: list[str] = []
    """The steps of ``--repair``, one per line."""


@click.command("doctor")
@flag(
    "--repair",
    help="First repair a damaged database, from its readable parts or from the backup that holds most. No "
    "other process may use the instance meanwhile.",
)
@click.option(
    "--skip-event",
    "listener",
    metavar="LISTENER",
    help="First skip the event that LISTENER, a listener of a system application, fails to handle.",
)
@instance_options
def doctor_command(instance: Instance, repair: bool, listener: str | None) -> int:
    """Check Python, Java, Spark, the disk, the instance and its artifacts, and show how to fix each
    problem; show every setting and where it comes from.
    """
    repairs = _repair(instance.home) if repair else []
    if listener is not None:
        with instance.connect() as cdap:
            cdap.messaging.skip_event(listener)
    diagnosis = diagnose(instance)
    diagnosis.repairs = repairs
    instance.print(diagnosis, _print)
    return 0 if all(finding.good for finding in diagnosis.findings) else NO


def _repair(home: Home) -> list[str]:
    from localcdap.host.maintenance import repair

    return repair(home)


def diagnose(instance: Instance) -> Diagnosis:
    """Run all checks. A check that fails is a finding, never an exception."""
    from localcdap.settings import Settings, describe_settings, load_settings

    home = instance.home
    try:
        settings = load_settings(home.settings_file)
        findings = [Finding("settings", True, _find_settings_source(home))]
    except SettingsError as error:
        settings = Settings(origins={})
        findings = [Finding("settings", False, error.message, error.corrective_action)]
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _check_python,
        _check_java,
        _check_spark,
        lambda: _check_profiles(settings),
        lambda: _check_disk(home),
        lambda: _check_instance(instance),
    )
    for check in checks:
        try:
            findings += check()
        except LocalcdapError as error:
            findings.append(Finding("instance", False, error.message, error.corrective_action))
    settings_in_effect = [
        EffectiveSetting(key, value, settings.origins.get(key, "default"))
        for key, value in describe_settings(settings).items()
    ]
    return Diagnosis(findings, settings_in_effect)


def _find_settings_source(home: Home) -> str:
    exists = home.settings_file.is_file()
    return str(home.settings_file) if exists else f"defaults ({home.settings_file} does not exist)"


def _check_python() -> Iterator[Finding]:
    yield Finding("python", True, f"{platform.python_version()} at {sys.executable}")


def _check_java() -> Iterator[Finding]:
    from localcdap.engine.local.launch import find_java

    java = find_java()
    yield Finding("java", True, f"{java.version} at {java.executable}, from {java.source}")
    for problem in java.rejected:
        yield Finding("another java", True, f"not used: {problem}")


def _check_spark() -> Iterator[Finding]:
    from importlib import metadata

    for package, fix in (
        ("pyspark", "pip install 'pyspark[connect]'"),
        ("pandas", "pip install 'pandas<3'"),
    ):
        try:
            yield Finding(package, True, metadata.version(package))
        except metadata.PackageNotFoundError:
            yield Finding(package, False, "not installed", fix)


def _check_profiles(settings: Settings) -> Iterator[Finding]:
    """Check that the clusters of the compute profiles answer, all at the same time."""
    if not settings.profiles:
        return
    from concurrent.futures import ThreadPoolExecutor

    from localcdap.engine.session import load_client

    load_client()
    with ThreadPoolExecutor(8) as threads:
        yield from threads.map(_check_profile, settings.profiles, settings.profiles.values())


def _check_profile(name: str, profile: Profile) -> Finding:
    from localcdap.engine.endpoint import Endpoint, hide_parameters
    from localcdap.engine.session import open_session

    try:
        with open_session(Endpoint(profile.remote, None)) as spark:
            found = f"{hide_parameters(profile.remote)} answers, Spark {spark.version}"
            return Finding(f"profile {name}", True, found)
    except LocalcdapError as error:
        return Finding(f"profile {name}", False, error.message, error.corrective_action)


def _check_disk(home: Home) -> Iterator[Finding]:
    folder = next(p for p in (home.path, *home.path.parents) if p.exists())
    free = shutil.disk_usage(folder).free
    found = f"{free / 1024**3:.1f} GiB free at {folder}"
    yield Finding("disk", free > _LOW_DISK, found, None if free > _LOW_DISK else "Free some space.")


def _check_instance(instance: Instance) -> Iterator[Finding]:
    shipped = find_shipped_plugins()
    yield Finding(
        "shipped plugins",
        shipped.is_dir(),
        str(shipped),
        None if shipped.is_dir() else "Install localcdap again.",
    )
    with instance.connect() as cdap:
        yield Finding("instance", True, str(instance.home.path))
        yield _check_database(instance.home, cdap.database.find_damage())
        yield _describe_backups(instance.home)
        yield from _check_privileges(cdap.security.describe())
        broken = cdap.artifacts.list_artifacts(instance.namespace, errors=True)
        found = f"{len(broken)} with errors" if broken else "no errors"
        fix = "See 'localcdap artifacts --errors'." if broken else None
        yield Finding("artifacts", not broken, found, fix)
        for warning in cdap.artifacts.list_capability_warnings(instance.namespace):
            fix = "Correct the name, or add it to 'plugin.capabilities.known' in localcdap.toml."
            yield Finding("capabilities", False, warning, fix)
        yield from _check_schedules(cdap, instance.namespace)
        yield from _check_metadata(cdap.metadata.list_set_aside())
        yield from _check_openlineage(cdap.openlineage.list_destinations())
        for listener in cdap.messaging.list_listeners():
            if listener.tries:
                yield Finding(
                    "listener",
                    False,
                    f"{listener.name} has failed {listener.tries} times since "
                    f"{format_time(listener.since)}, on event {listener.event or 'none'}: "
                    f"{listener.error}",
                    "It is tried again every minute. To skip the event: localcdap doctor "
                    f"--skip-event {listener.name}",
                )


def _check_schedules(cdap: Cdap, namespace: str) -> Iterator[Finding]:
    """Check that schedules started the runs that they were to start."""
    from localcdap.schedules.model import EventKind

    lost = (EventKind.MISSED, EventKind.FAILED, EventKind.TIMED_OUT)
    for each in cdap.schedules.list_schedules(namespace):
        event = each.last_event
        if event is not None and event.kind in lost:
            where = f"{each.schedule.application} {each.schedule.name}"
            yield Finding(
                "schedules",
                False,
                f"{where}, {format_time(event.time)}: {event.message}",
                f"See 'localcdap schedules show {where}'. Keep a host up with 'localcdap server start'.",
            )


def _check_metadata(set_aside: list[SetAsideMetadata]) -> Iterator[Finding]:
    """Check that everything that runs emitted is stored."""
    for each in set_aside:
        yield Finding(
            "metadata",
            False,
            f"what stage '{each.stage}' of run {each.run.name} emitted for {each.entity.describe()} was not "
            f"stored: {each.error}",
            "Add it with 'localcdap metadata add', or run the pipeline again.",
        )


def _check_openlineage(destinations: list[DestinationStatus]) -> Iterator[Finding]:
    """Check that events of OpenLineage arrive."""
    from localcdap.openlineage.destinations import TYPES, find_unknown_transport

    unknown = find_unknown_transport(os.environ)
    if unknown is not None:
        found = f"OPENLINEAGE__TRANSPORT__TYPE is {unknown}, which localcdap does not have"
        fix = f"Use one of {', '.join(TYPES)}, or set openlineage.file or openlineage.url."
        yield Finding("openlineage", False, found, fix)
    for each in destinations:
        parts = [f"{each.waiting} events wait for {each.target}"]
        if each.tries:
            parts.append(f"{each.tries} tries since {format_time(each.since)}: {each.error}")
        if each.dropped:
            parts.append(f"{each.dropped} were dropped, since too many waited")
        if each.refused:
            parts.append(f"{each.refused} were refused, the last one: {each.refusal}")
        good = not (each.tries or each.dropped or each.refused)
        action = (
            None if good else "Events are sent again every minute; see 'localcdap openlineage'."
        )
        yield Finding("openlineage", good, "; ".join(parts), action)


def _check_privileges(status: SecurityStatus) -> Iterator[Finding]:
    """Check that the privileges of the settings file are those in effect."""
    if status.problem:
        found = f"the last good privileges are in effect: {status.problem}"
        yield Finding("privileges", False, found, "Correct the settings.")
    elif status.enabled:
        yield Finding("privileges", True, f"are checked; you are {status.principal.name}")


def _check_database(home: Home, damage: list[str]) -> Finding:
    fix = (
        "End all processes that use the instance, then run 'localcdap doctor --repair'. It keeps all rows "
        "that can be read, and the damaged file."
    )
    if damage:
        return Finding("database", False, f"{home.database} is damaged: {'; '.join(damage)}", fix)
    return Finding("database", True, "all tables can be read")


def _describe_backups(home: Home) -> Finding:
    from localcdap.store.backup import list_backups

    backups = list_backups(home.backups)
    if not backups:
        return Finding("backups", True, "none yet")
    size = format_size(sum(each.stat().st_size for each in backups))
    newest = format_time(int(backups[0].stat().st_mtime * 1000))
    found = f"{plural(len(backups), 'backup')}, {size}, the newest of {newest}"
    return Finding("backups", True, found)


def _print(diagnosis: Diagnosis) -> None:
    for line in diagnosis.repairs:
        echo(line)
    for finding in diagnosis.findings:
        mark = StyledText("✓", "green") if finding.good else StyledText("✗", "red")
        echo(mark, f" {finding.what:16} {finding.found}")
        if finding.fix:
            echo(f"  {'':16} {finding.fix}")
    echo()
    rows = [(s.key, s.value, s.origin) for s in diagnosis.settings]
    print_table(("setting", "value", "from"), rows)


@click.command("engine")
@click.argument("action", type=click.Choice(["status", "start", "stop"]), default="status")
@instance_options
def engine_command(instance: Instance, action: str) -> None:
    """Show the status of the local Spark server, start it, or stop it.

    All local runs and previews share the server. It starts with the first run and stops after the time of the
    setting engine.idle_minutes without a run.
    """
    from localcdap.host.engine_server import make_engine_server
    from localcdap.settings import load_settings

    server = make_engine_server(instance.home, load_settings(instance.home.settings_file))
    if action == "start":
        server.ensure()
    elif action == "stop":
        server.stop()
    status = server.get_status()
    instance.print(status, status.summary)


@click.command("backup")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@instance_options
def backup_command(instance: Instance, file: Path | None) -> None:
    """Copy the database into FILE, by default a new file in the folder 'backups' of the instance.

    Runs, other commands and studios may continue meanwhile. Before a newer localcdap migrates the database,
    it makes a backup itself.
    """
    with instance.connect() as cdap:
        made = cdap.database.back_up(str(file.absolute()) if file else None)
    instance.print(made, f"{made.file}  {made.bytes / 1024**2:.1f} MiB")


@click.command("restore")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@instance_options
def restore_command(instance: Instance, file: Path) -> None:
    """Replace the database with the backup FILE, and move the database into the folder 'backups'.

    The backup is read and checked first. No other process may use the instance meanwhile.
    """
    from localcdap.host.maintenance import restore

    done = restore(instance.home, file.absolute())
    if instance.print_json(done):
        return
    echo(f"Restored {file}.")
    if done.kept:
        echo(f"The previous database is now {done.kept}.")
