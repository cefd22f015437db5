"""The entry point of the program: finds the command and turns errors into exit codes.

The command ``runs`` is ``runs_command`` of the module that `_MODULES` names, imported only when it is used,
so that ``localcdap --help`` loads no other library than click.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

import click

from localcdap.api.errors import LocalcdapError
from localcdap.text import nearest_name

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_COMMANDS: Final = {
    "studio": "Open the terminal studio, as 'localcdap' alone does.",
    "browser": "Show the studio in a browser.",
    "server": "Answer the REST calls of clients of CDAP, such as Airflow and Terraform.",
    "demo": "Set up a sample pipeline, validate it and run it.",
    "validate": "Show every failure of a pipeline file.",
    "run": "Run a pipeline and show the record counts of each stage.",
    "import": "Deploy a pipeline file as a new version of the pipeline.",
    "export": "Write the file of a deployed pipeline.",
    "pipelines": "List, show or delete the deployed pipelines.",
    "schedules": "Make, list or change schedules of pipelines, and show when runs are due.",
    "drafts": "Save unfinished pipelines, with every revision.",
    "preview": "Run a pipeline on a few records and show the records of each stage.",
    "record": "Keep the records that a stage gives in a file.",
    "recordings": "Manage what stands in for systems and plugins that are not here.",
    "debug": "Run one stage of a pipeline on given records.",
    "prep": "Prepare data: write a recipe in the studio, or apply one to a file.",
    "test": "Run pipeline tests, which compare the output with expected records.",
    "plugins": "List the plugins that pipelines can use.",
    "templates": "Manage plugin templates: plugins with preset properties.",
    "plugin": "Describe one plugin and its properties.",
    "call": "Call a method of a plugin.",
    "capabilities": "List the capabilities of the plugins.",
    "artifacts": "List the artifacts and their errors.",
    "new": "Scaffold a plugin, with its tests.",
    "diff": "Show the differences between two pipelines.",
    "runs": "List the runs, show one, say why one failed, compare two, or remove old ones.",
    "expectations": "Show the rules for the records of a pipeline, and what runs found.",
    "report": "Report on runs: success rates, durations, and why runs failed.",
    "logs": "Show the log of a run.",
    "stop": "Stop a run.",
    "profiles": "List the compute profiles, on which runs take place.",
    "namespaces": "List, create or delete namespaces.",
    "preferences": "Show or set the default values of macros.",
    "sync": "Keep a namespace and a folder of JSON files the same, for Git.",
    "secrets": "Manage secure keys: secret values that pipelines use.",
    "connections": "Manage the connections to other systems that stages share.",
    "apps": "List, describe or call system applications.",
    "jobs": "List, show or stop jobs of system applications, such as trainings of models.",
    "datasets": "Create, change, show and delete datasets.",
    "tables": "List the tables that sinks wrote, or show one.",
    "topics": "List the topics of messages, or show the messages of one.",
    "sql": "Run a read-only SQL query on the tables.",
    "metadata": "Show, change or search tags and properties of entities.",
    "lineage": "Show where a dataset or a field comes from, and where it goes.",
    "impact": "Show what a change of a pipeline breaks, before it is deployed.",
    "audit": "Show who changed what, and when.",
    "openlineage": "Show where events of OpenLineage are sent, or write them into a file.",
    "engine": "Show, start or stop the local Spark server.",
    "backup": "Copy the database into a file, also while it is in use.",
    "restore": "Replace the database with a backup.",
    "doctor": "Check this machine and the instance, and show the settings.",
    "completion": "Print the script with which a shell completes commands and names.",
}
"""The commands and their summaries, in the order of ``--help``."""
_MODULES: Final = {
    "apps": "apps jobs topics",
    "completion": "completion",
    "data.datasets": "datasets",
    "data.prep": "prep",
    "data.tables": "tables sql",
    "instance.front_ends": "studio browser server",
    "instance.maintenance": "engine backup restore doctor",
    "metadata.lineage": "lineage audit openlineage",
    "metadata.metadata": "metadata",
    "namespaces.namespaces": "namespaces preferences secrets connections",
    "namespaces.sync": "sync",
    "pipeline_tests": "test",
    "pipelines.diff": "diff impact",
    "pipelines.expectations": "expectations",
    "pipelines.pipelines": "pipelines drafts import export",
    "pipelines.schedules": "schedules",
    "pipelines.validate": "validate",
    "plugins.new": "new",
    "plugins.plugins": "plugins plugin call templates capabilities artifacts",
    "runs.debug": "debug",
    "runs.preview": "preview",
    "runs.record": "record",
    "runs.recordings": "recordings",
    "runs.report": "report logs stop profiles",
    "runs.run": "run demo",
    "runs.runs": "runs",
}
"""The modules of this package, with the commands in each."""
COMPLETION: Final = "_LOCALCDAP_COMPLETE"
"""The environment variable by which the completion of a shell calls the program."""
_WITHOUT_HOST: Final = frozenset(
    {"new", "diff", "engine", "restore", "doctor", "completion", "browser", "server"}
)
"""Commands that need no host, or not at once."""


class _LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = _find_command(cmd_name)
        if COMPLETION in os.environ:
            from localcdap.cli.completion import add_values

            return add_values(cmd_name, command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem

        found = ((name, help) for name, help in _COMMANDS.items() if name.startswith(incomplete))
        return [CompletionItem(name, help=help) for name, help in found]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            nearest = nearest_name(args[0], _COMMANDS)
            hint = f" Did you mean '{nearest}'?" if nearest else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


def _find_command(name: str) -> click.Command:
    (module,) = (module for module, names in _MODULES.items() if name in names.split())
    command: click.Command = getattr(
        importlib.import_module(f"localcdap.cli.{module}"), f"{name}_command"
    )
    return command


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 the answer is negative (invalid pipeline, failed run, nothing found); "
    "2 wrong options or arguments, or unreadable input; 3 an internal error of localcdap.",
)
@click.version_option(package_name="localcdap", prog_name="localcdap")
def cli() -> None:
    """CDAP data pipelines for one person and one machine.

    Without a command, localcdap opens the terminal studio; 'localcdap demo' runs a sample pipeline.

    An instance is a folder with a database, settings, plugins and runs. A command that works on
    one has the options --home DIR (the folder of the instance), --namespace NS (default: default) and --json
    (print one JSON document). 'localcdap COMMAND --help' describes a command.
    """


def main() -> None:
    """Run the command line and exit with its code."""
    _start_host_ahead(order_arguments(sys.argv[1:]))
    _leave(run(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """End the process without taking its modules apart, which lasts 20 ms.

    Everything is closed. Threads of the studio that still wait for an answer would keep the process alive, or
    print a traceback at its end.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # it is None when its descriptor was closed from the start
                stream.flush()
        except BrokenPipeError:  # the reader has seen enough
            pass
        except (OSError, ValueError):  # what was printed is lost
            code = code or 1
    os._exit(code)


def _start_host_ahead(arguments: list[str]) -> None:
    """Start the host of an instance that was used before, if it has none, while this process loads.

    Host and command each take half a second of the processor to load. The command reports what goes wrong: it
    starts a host as soon as it needs one.
    """
    name = arguments[0] if arguments else ""
    if name not in _COMMANDS or name in _WITHOUT_HOST or {"-h", "--help"} & set(arguments):
        return
    from localcdap.cli.options import find_home_option
    from localcdap.home import find_home
    from localcdap.rpc.host_start import EXPECTS_RUN, start_host_ahead

    home = find_home(find_home_option(arguments))
    with contextlib.suppress(OSError):
        if home.database.exists():
            start_host_ahead(home.path, [EXPECTS_RUN] if name in ("run", "demo") else [])


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    # The errors of the command line load half of localcdap: they are imported when one has occurred.
    arguments = order_arguments(arguments)
    try:
        result = cli.main(arguments, prog_name="localcdap", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.Abort:
        click.echo("Aborted.", err=True)  # noqa: TID251 - a plain text, and no other module to load
        return 130
    except click.ClickException as error:
        _show_usage(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        from localcdap.cli.errors import discard_stdout

        discard_stdout()
        return 0
    except LocalcdapError as error:
        from localcdap.cli.errors import show

        return show(error, arguments)
    except Exception as error:
        from localcdap.cli.errors import report

        return report(error, arguments)


def _show_usage(error: click.ClickException) -> None:
    """Print wrong usage, which may quote a text that does something to the terminal."""
    from localcdap.cli.output import echo

    text = io.StringIO()
    error.show(text)
    echo(text.getvalue(), err=True, nl=False)


def order_arguments(arguments: list[str]) -> list[str]:
    """Return a command line with the common options moved after the command.

    A command line without a command opens the studio, if there is a terminal or such an option.

    >>> order_arguments(["--home", "there", "runs", "--", "x"]), order_arguments(["--home", "there"])
    (['runs', '--home', 'there', '--', 'x'], ['studio', '--home', 'there'])
    """
    common, rest = _split_common_options(arguments)
    if common and rest and not rest[0].startswith("-"):
        end = rest.index("--") if "--" in rest else len(rest)
        return [*rest[:end], *common, *rest[end:]]
    if common and common != ["--json"]:
        return ["studio", *common, *rest]
    if not arguments:
        from localcdap.cli.instance.front_ends import is_terminal

        return ["studio"] if is_terminal() else []
    return arguments


def _split_common_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the common options that come before the command, and the rest."""
    at = 0
    while at < len(arguments):
        name, is_joined, _ = arguments[at].partition("=")
        if name in ("--home", "--namespace", "-n"):
            at += 1 if is_joined else 2
        elif name == "--json":
            at += 1
        else:
            break
    return arguments[:at], arguments[at:]
