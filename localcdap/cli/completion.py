"""``localcdap completion SHELL``, and the values that a shell completes for the parameters of commands.

The script of a shell calls the program for each completion. Names come from the instance that the command
line selects; an instance without a database has none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from localcdap.api.errors import LocalcdapError
from localcdap.home import find_home

if TYPE_CHECKING:
    from localcdap.host import Cdap

_SHELLS: Final = ("bash", "zsh", "fish")
_MOST_RUNS: Final = 50
_SPECIAL: Final = re.compile(r"([^\w@%+=:,./-])")
_MACRO: Final = re.compile(r"\$\{([\w.-]+)\}")

_Values = Callable[["Cdap", click.Context, str], Iterable[str | tuple[str, str | None]]]
"""Lists values, or values and what they are, in a namespace."""


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
def completion_command(shell: str | None) -> None:
    """Print the script that lets SHELL complete commands, options, files and names; the default is the shell
    of $SHELL.

    \b
    bash: add to ~/.bashrc    eval "$(localcdap completion bash)"
    zsh:  add to ~/.zshrc     eval "$(localcdap completion zsh)"
    fish: localcdap completion fish > ~/.config/fish/completions/localcdap.fish
    """  # noqa: D301
    shell = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in _SHELLS else None
    if kind is None:
        raise click.UsageError(f"Name the shell: {', '.join(_SHELLS)}.")
    from localcdap.cli.main import cli

    print(kind(cli, {}, "localcdap", _get_variable()).source())  # noqa: T201 - no text of a user


def _get_variable() -> str:
    """Return the environment variable by which the script of a shell calls the program."""
    from localcdap.cli.main import COMPLETION

    return COMPLETION


def add_values(name: str, command: click.Command) -> click.Command:
    """Let the parameters of a command complete their values.

    :param name: the name of the command.
    """
    if isinstance(command, click.Group):
        for child, each in command.commands.items():
            add_values(f"{name} {child}", each)
    for parameter in command.params:
        values = _VALUES.get((name, parameter.name or "")) or _COMMON.get(parameter.name or "")
        if values is not None:
            parameter.shell_complete = values  # type: ignore[method-assign, assignment]
    return command


_Complete = Callable[[click.Context, str], list[CompletionItem]]


def _complete(values: _Values, *, files: bool = False) -> _Complete:
    """Return a function that completes values of the instance.

    :param files: whether the parameter can also be a file, which the shell completes when no value fits.
    """

    def complete(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [
            CompletionItem(_escape_for_bash(value), help=help)
            for value, help in _read(values, ctx)
            if value.startswith(incomplete)
        ]
        return found if found or not files else _complete_files(ctx, incomplete)

    return complete


def _escape_for_bash(value: str) -> str:
    """Escape what bash would not take as a part of a word; the other shells do that themselves."""
    is_bash = os.environ.get(_get_variable(), "").startswith("bash")
    return _SPECIAL.sub(r"\\\1", value) if is_bash else value


def _complete_files(_: click.Context, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def _read(values: _Values, ctx: click.Context) -> list[tuple[str, str | None]]:
    """Return the values; none without a database, and none when the host does not answer them."""
    from localcdap.host import connect

    home = find_home(ctx.params.get("home"))
    if not home.database.exists():
        return []
    namespace = ctx.params.get("namespace") or "default"
    with suppress(LocalcdapError, OSError), connect(home) as cdap:
        found = values(cdap, ctx, namespace)
        return [(each, None) if isinstance(each, str) else each for each in found]
    return []


def _list_pipelines(cdap: Cdap, _: click.Context, namespace: str) -> Iterable[str]:
    return [each.name for each in cdap.applications.list_applications(namespace)]


def _list_schedules(cdap: Cdap, ctx: click.Context, namespace: str) -> Iterable[str]:
    pipeline = ctx.params.get("pipeline")
    return [e.schedule.name for e in cdap.schedules.list_schedules(namespace, pipeline)]


def _list_pipelines_and_drafts(cdap: Cdap, ctx: click.Context, namespace: str) -> Iterable[str]:
    drafts = [f"draft:{each.name}" for each in cdap.drafts.list_drafts(namespace)]
    return [*_list_pipelines(cdap, ctx, namespace), *drafts]


def _read_document(cdap: Cdap, ctx: click.Context, namespace: str) -> str:
    from localcdap.cli.files import NamedPipeline

    # Behind an option without its value click leaves the arguments where they are.
    name = ctx.params.get("pipeline") or next(iter(ctx.args), "")
    return NamedPipeline(name).get_document(cdap, namespace)


def _list_stages(cdap: Cdap, ctx: click.Context, namespace: str) -> Iterable[str]:
    from localcdap.pipeline.document.reader import read_document

    return [each.name for each in read_document(_read_document(cdap, ctx, namespace)).stages]


def _list_macros(cdap: Cdap, ctx: click.Context, namespace: str) -> Iterable[str]:
    found = _MACRO.findall(_read_document(cdap, ctx, namespace))
    return [f"{name}=" for name in dict.fromkeys(found)]


def _list_runs(cdap: Cdap, _: click.Context, namespace: str) -> Iterable[tuple[str, str | None]]:
    runs = cdap.runs.list_runs(namespace, limit=_MOST_RUNS)
    last = [("last", "the newest run")] if runs else []
    return [*last, *((each.run, f"{each.pipeline} {each.status}") for each in runs)]


def _list_prepared(cdap: Cdap, _: click.Context, namespace: str) -> Iterable[str]:
    """Return the tables, and the connections with the colon that precedes their paths."""
    connections = cdap.connections.list_connections(namespace)
    tables = [each.name for each in cdap.tables.list_tables(namespace)]
    return [*tables, *(f"{each.name}:/" for each in connections)]


def _list_plugin_types(cdap: Cdap, _: click.Context, namespace: str) -> Iterable[str]:
    return sorted({each.type for each in cdap.artifacts.list_plugins(namespace)})


def _list_plugins(
    cdap: Cdap, ctx: click.Context, namespace: str
) -> Iterable[tuple[str, str | None]]:
    type = ctx.params.get("type_")
    return [(e.name, e.description) for e in cdap.artifacts.list_plugins(namespace, type=type)]


def _list_sync_words(cdap: Cdap, ctx: click.Context, namespace: str) -> Iterable[str]:
    folders = cdap.sync.list_synchronized(namespace)
    return folders if ctx.params.get("words") or ctx.args else ["status", "pull", "push", *folders]


def _list_conflicts(cdap: Cdap, ctx: click.Context, namespace: str) -> Iterable[str]:
    from localcdap.sync.synchronizer import Synchronizer

    *_, folder = ctx.params.get("words") or ctx.args or [""]
    found = Synchronizer(cdap.sync, namespace, Path(folder)).plan().conflicts if folder else []
    return ["all", *(each.address for each in found)]


def _list_datasets(cdap: Cdap, _: click.Context, namespace: str) -> Iterable[str]:
    names = [each.dataset for each in cdap.lineage.list_datasets(namespace)]
    return [*names, *(f"datasets/{name}" for name in names)]


def _list_fields(cdap: Cdap, ctx: click.Context, namespace: str) -> Iterable[str]:
    from localcdap.metadata.entities import parse_entity

    text = ctx.params.get("entity") or next(iter(ctx.args), "")
    dataset = parse_entity(text if set(text) & {"/", ":"} else f"dataset:{text}", namespace)
    return [each.name for each in cdap.lineage.describe(dataset).fields]


_PIPELINE: Final = _complete(_list_pipelines, files=True)
_DRAFT: Final = _complete(_list_pipelines_and_drafts, files=True)
_COMMON: Final[dict[str, _Complete]] = {
    "namespace": _complete(lambda cdap, _, __: [e.name for e in cdap.namespaces.list_namespaces()]),
    "pipeline": _PIPELINE,
    "file": _complete_files,
    "records": _complete_files,
    "output": _complete_files,
    "stage": _complete(_list_stages),
    "arguments": _complete(_list_macros),
    "profile": _complete(lambda cdap, _, ns: [e.name for e in cdap.runs.list_profiles(ns)]),
    "type_": _complete(_list_plugin_types),
}
"""By the name of a parameter, in every command that has it."""
_VALUES: Final[dict[tuple[str, str], _Complete]] = {
    ("export", "name"): _complete(_list_pipelines),
    ("pipelines", "name"): _complete(_list_pipelines),
    ("runs", "words"): _complete(_list_pipelines),
    ("schedules", "pipeline"): _complete(_list_pipelines),
    ("schedules", "name"): _complete(_list_schedules),
    ("schedules", "after"): _complete(_list_pipelines),
    ("schedules", "partitions"): _complete(
        lambda cdap, _, ns: [e.name for e in cdap.datasets.list_datasets(ns)]
    ),
    ("studio", "pipeline"): _PIPELINE,
    ("test", "new"): _PIPELINE,
    ("diff", "a"): _DRAFT,
    ("diff", "b"): _DRAFT,
    ("sync", "words"): _complete(_list_sync_words, files=True),
    ("sync", "ours"): _complete(_list_conflicts),
    ("sync", "theirs"): _complete(_list_conflicts),
    ("logs", "run"): _complete(_list_runs),
    ("stop", "run"): _complete(_list_runs),
    ("plugin", "name"): _complete(_list_plugins),
    ("call", "name"): _complete(_list_plugins),
    ("datasets", "name"): _complete(
        lambda cdap, _, ns: [e.name for e in cdap.datasets.list_datasets(ns)]
    ),
    ("datasets", "type_"): _complete(
        lambda cdap, _, ns: [e.name for e in cdap.datasets.list_types(ns)]
    ),
    ("tables", "name"): _complete(
        lambda cdap, _, ns: [e.name for e in cdap.tables.list_tables(ns)]
    ),
    ("namespaces", "name"): _COMMON["namespace"],
    ("secrets", "name"): _complete(
        lambda cdap, _, ns: [e.name for e in cdap.secure_keys.list_keys(ns)]
    ),
    ("connections", "name"): _complete(
        lambda cdap, _, ns: [e.name for e in cdap.connections.list_connections(ns)], files=True
    ),
    ("prep open", "data"): _complete(_list_prepared, files=True),
    ("prep apply", "recipe"): _complete_files,
    ("prep apply", "input_"): _complete_files,
    ("drafts", "target"): _complete(
        lambda cdap, _, ns: [e.name for e in cdap.drafts.list_drafts(ns)], files=True
    ),
    ("lineage", "entity"): _complete(_list_datasets),
    ("lineage", "field"): _complete(_list_fields),
    ("apps", "name"): _complete(
        lambda cdap, _, __: [e.name for e in cdap.apps.list_applications()]
    ),
}
"""By the names of a command and of its parameter."""
