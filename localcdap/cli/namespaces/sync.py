"""``localcdap sync``: keep a namespace and a folder of JSON files the same, for Git."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

import click
import msgspec

from localcdap.api.errors import ConflictError, LocalcdapError
from localcdap.cli.errors import NO
from localcdap.cli.options import Instance, flag, instance_options, repeatable
from localcdap.cli.output import echo, print_error, print_json, secho
from localcdap.sync.merge import Side
from localcdap.sync.model import SyncAction, SyncDirection, SyncOutcome, SyncPlan
from localcdap.sync.synchronizer import Synchronizer
from localcdap.sync.texts import format_conflict_side, list_questions
from localcdap.sync.watcher import FolderWatch
from localcdap.text import plural

_ACTIONS: Final = ("status", "pull", "push")
_SIGNS: Final = {
    SyncAction.ADD: ("+", "green"),
    SyncAction.CHANGE: ("~", "yellow"),
    SyncAction.DELETE: ("-", "red"),
}
_LOOK_S: Final = 2.0
"""Seconds after which the watch looks at the instance, which does not announce all changes."""


class _Options(msgspec.Struct):
    """How conflicts and questions are answered."""

    choices: dict[str, Side]
    yes: bool
    fix: bool
    formats: bool


@click.command("sync")
@click.argument("words", nargs=-1, required=True, metavar="[status|pull|push] DIR")
@flag("--yes", "-y", help="Delete, and overwrite files, without a question.")
@repeatable(
    "--ours",
    metavar="ADDRESS",
    help="In this conflict, or those of this entity, take what the instance has; all: in all. Repeatable.",
)
@repeatable("--theirs", metavar="ADDRESS", help="The same, but take what the folder has.")
@flag(
    "--fix",
    help="Deploy pipelines with installed versions of plugins where theirs are missing; files stay as is.",
)
@flag("--format", "formats", help="Write files that were edited by hand in canonical form.")
@flag("--watch", help="Go on with each change of either side, until ctrl+c.")
@flag(
    "--restart",
    help="Forget what was synchronized with DIR before, and compare everything from the start.",
)
@instance_options
def sync_command(
    instance: Instance,
    words: tuple[str, ...],
    yes: bool,
    ours: tuple[str, ...],
    theirs: tuple[str, ...],
    fix: bool,
    formats: bool,
    watch: bool,
    restart: bool,
) -> int:
    """Keep the namespace and the folder DIR the same: pipelines (their latest versions), drafts, connections,
    preferences, and tags and properties of users, one JSON file each, for Git.

    What changed on one side is changed on the other; changes of both are merged by stage and property. After
    a conflict nothing is changed: solve it with --ours or --theirs, or in the studio. Secret values never get
    into a file.

    \b
    localcdap sync status DIR   only say what differs
    localcdap sync pull DIR     bring changes of the folder into the instance
    localcdap sync push DIR     bring changes of the instance into the folder
    """  # noqa: D301
    action, folder = _split(words)
    direction = {"pull": SyncDirection.PULL, "push": SyncDirection.PUSH}.get(
        action, SyncDirection.BOTH
    )
    choices = dict.fromkeys(ours, Side.MINE) | dict.fromkeys(theirs, Side.THEIRS)
    options = _Options(choices, yes, fix, formats)
    both = sorted(set(ours) & set(theirs))
    if both:
        raise click.UsageError(f"{', '.join(both)}: take either --ours or --theirs.")
    if watch and instance.json:
        raise click.UsageError("--watch prints lines, not one JSON document: leave --json out.")
    if action == "status" and (watch or restart):
        raise click.UsageError("status changes nothing: leave --watch and --restart out.")
    with instance.connect() as cdap:
        synchronizer = Synchronizer(cdap.sync, instance.namespace, folder)
        if action == "status":
            return _show_status(instance, synchronizer.plan(direction, choices, formats=formats))
        with synchronizer.hold(direction):
            if restart:
                synchronizer.forget()
            if watch:
                return _watch(instance, synchronizer, direction, options)
            return _synchronize(instance, synchronizer, direction, options)


def _split(words: tuple[str, ...]) -> tuple[str, Path]:
    action = words[0] if words[0] in _ACTIONS else ""
    rest = words[1:] if action else words
    if len(rest) != 1:
        given = f"localcdap sync {f'{action} ' if action else ''}DIR"
        raise click.UsageError(
            f"Name one folder: {given}"
            if len(rest) != 2 or action
            else f"'{rest[0]}' is none of {', '.join(_ACTIONS)}. Write: {given}"
        )
    return action, Path(rest[0])


def _show_status(instance: Instance, plan: SyncPlan) -> int:
    if not instance.print_json(plan):
        _print_plan(plan)
        if plan.is_empty:
            echo("Nothing differs.")
    return 0 if plan.is_empty else NO


def _synchronize(
    instance: Instance, synchronizer: Synchronizer, direction: SyncDirection, options: _Options
) -> int:
    plan = synchronizer.plan(direction, options.choices, formats=options.formats)
    questions = list(list_questions(plan))
    if not instance.json:
        _print_plan(plan)
    if plan.problems or plan.conflicts:
        return _refuse(instance, plan, "Nothing was changed.")
    if questions and not options.yes and not _agree(instance, questions):
        return _refuse(instance, plan, "Nothing was changed; --yes goes on without a question.")
    outcome = synchronizer.apply(plan, fix=options.fix)
    if not instance.print_json({"plan": plan, "outcome": outcome}):
        _print_outcome(plan, outcome)
    return NO if outcome.problems else 0


def _refuse(instance: Instance, plan: SyncPlan, text: str) -> int:
    if instance.json:
        print_json({"plan": plan, "outcome": None})
    echo(text, err=True)
    return NO


def _agree(instance: Instance, questions: list[str]) -> bool:
    for each in questions:
        secho(each, fg="yellow", err=True)
    return sys.stdin.isatty() and not instance.json and click.confirm("Go on?", err=True)


def _print_plan(plan: SyncPlan) -> None:
    for problem in plan.problems:
        print_error(problem.message, problem.corrective_action, indent="  ", err=True)
    for change in plan.instance:
        _print_line("instance", change.action, change.title)
    for file in plan.files:
        _print_line("folder  ", file.action, file.path)
    for conflict in plan.conflicts:
        where = f", {conflict.where}" if conflict.where else ""
        secho(f"conflict  {conflict.entity}{where}", fg="red", bold=True)
        for label, value in (
            ("before", conflict.base),
            ("instance (ours)", conflict.mine),
            ("folder (theirs)", conflict.theirs),
        ):
            echo(f"  {label:<16}{format_conflict_side(value)}")
        echo(f"  --ours or --theirs '{conflict.address}'")


def _print_line(where: str, action: SyncAction, what: str) -> None:
    sign, colour = _SIGNS[action]
    secho(f"{where}  {sign} {what}", fg=colour)


def _print_outcome(plan: SyncPlan, outcome: SyncOutcome) -> None:
    for problem in outcome.problems:
        print_error(problem.message, problem.corrective_action, indent="  ", err=True)
    if outcome.problems:
        echo("Nothing was changed.", err=True)
        return
    for each in outcome.held:
        secho(f"{each.title} waits: {each.reason}", fg="yellow", err=True)
    changed, written = len(plan.instance) - len(outcome.held), len(plan.files)
    if changed or written:
        echo(
            f"Synchronized: {plural(changed, 'change')} in the instance, {plural(written, 'file')}."
        )
    elif not outcome.held:
        echo("Nothing differs.")


def _watch(
    instance: Instance, synchronizer: Synchronizer, direction: SyncDirection, options: _Options
) -> int:
    """Synchronize after each change, until the user interrupts it."""
    echo(f"Watching {synchronizer.folder.path} and namespace {instance.namespace}; ctrl+c ends.")
    said: set[str] = set()
    with FolderWatch(synchronizer.folder.path) as watcher:
        while True:
            started = time.monotonic()
            try:
                said = _follow(synchronizer, direction, options, said)
            except ConflictError as error:  # it changed meanwhile: the next round sees that
                said = _say_new({error.message}, said)
            except LocalcdapError as error:
                said = _say_new({error.full_message}, said)
            watcher.wait(max(_LOOK_S, 10 * (time.monotonic() - started)))


def _follow(
    synchronizer: Synchronizer, direction: SyncDirection, options: _Options, said: set[str]
) -> set[str]:
    """Synchronize what needs no decision; return what is said about the rest."""
    plan = synchronizer.plan(direction, options.choices, formats=options.formats)
    paused = {problem.message for problem in plan.problems}
    paused |= {
        f"{each.entity} pauses: conflict in {each.where or 'all of it'}. Solve it with --ours or --theirs "
        f"'{each.address}', or in the studio."
        for each in plan.conflicts
    }
    if not plan.problems:
        plan.conflicts = []
        if not options.yes:
            paused |= set(list_questions(plan))
            _leave_out_questions(plan)
        outcome = synchronizer.apply(plan, fix=options.fix)
        paused |= {problem.message for problem in outcome.problems}
        paused |= {f"{each.title} waits: {each.reason}" for each in outcome.held}
        if not outcome.problems:
            held = {each.entity for each in outcome.held}
            plan.instance = [each for each in plan.instance if each.entity not in held]
            _print_plan(plan)
            sys.stdout.flush()
    return _say_new(paused, said)


def _leave_out_questions(plan: SyncPlan) -> None:
    """Leave out of a plan the entities that a person should agree to first."""
    asked = {each.entity for each in plan.instance if each.action is SyncAction.DELETE}
    asked |= {
        each.entity
        for each in plan.files
        if each.action is SyncAction.DELETE or not each.is_canonical
    }
    plan.instance = [each for each in plan.instance if each.entity not in asked]
    plan.files = [each for each in plan.files if each.entity not in asked]
    plan.records = [each for each in plan.records if f"{each.kind}/{each.key}" not in asked]


def _say_new(now: set[str], said: set[str]) -> set[str]:
    for each in sorted(now - said):
        secho(each, fg="yellow", err=True)
    return now
