"""The entry point: finds the command, turns errors into exit codes."""

from __future__ import annotations

import importlib
import keyword
import os
import sys
from typing import Final

import click

from localcdap.api.errors import LocalcdapError

_COMMANDS: Final = {
    "studio": "Open the terminal studio, as 'localcdap' alone does.",
    "demo": "Set up a sample pipeline, validate it, run it.",
    "validate": "Show every failure of a pipeline file.",
    "run": "Run a pipeline and show the records of each stage.",
    "import": "Deploy a pipeline file as a version of a pipeline.",
    "export": "Write the file of a deployed pipeline.",
    "pipelines": "List, show or delete the deployed pipelines.",
    "drafts": "Keep pipelines that are being made, every save of them.",
    "preview": "Run a pipeline on a few records and show those of each stage.",
    "debug": "Try one stage of a pipeline on given records.",
    "test": "Run tests of pipelines: given records in, expected records out.",
    "plugins": "List the plugins that pipelines can use.",
    "templates": "Keep plugins with properties set beforehand.",
    "plugin": "Describe one plugin and its properties.",
    "call": "Ask a plugin for what only it knows.",
    "capabilities": "List what plugins are capable of.",
    "artifacts": "List the artifacts and what is wrong with them.",
    "new": "Write a plugin to begin with, tests included.",
    "diff": "Show what is different between two pipelines.",
    "runs": "List the runs, newest first.",
    "logs": "Show the log of a run.",
    "stop": "Stop a run.",
    "profiles": "List the compute profiles: where runs can take place.",
    "namespaces": "List, create or delete namespaces.",
    "preferences": "Show or set the values that macros have by default.",
    "secrets": "Keep values that pipelines use and nothing shows.",
    "connections": "Keep what stages share to reach other systems.",
    "apps": "List, describe or call system applications.",
    "tables": "List the tables that Table sinks filled, or show one.",
    "sql": "Run a read-only query on the tables.",
    "engine": "Show, start or stop the local Spark server.",
    "backup": "Copy the database into a file, while it is in use.",
    "restore": "Put a backup into the place of the database.",
    "doctor": "Check this machine and show the settings in force.",
}
"""Commands in the order of ``--help``, each in the module of its name."""


class _LazyGroup(click.Group):
    """A group that imports a command's module only when the command is used.

    ``localcdap --help`` shows the summaries above and loads nothing.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        module = importlib.import_module(f"localcdap.cli.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from rapidfuzz import process

            nearest = process.extractOne(args[0], list(_COMMANDS), score_cutoff=60)
            hint = f" Did you mean '{nearest[0]}'?" if nearest else ""
            ctx.fail(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 the answer is no (invalid pipeline, failed run, nothing found); "
    "2 wrong usage or unreadable input; 3 a fault of localcdap itself.",
)
@click.version_option(package_name="localcdap", prog_name="localcdap")
def cli() -> None:
    """CDAP data pipelines for one person and one machine.

    Alone it opens the terminal studio; 'localcdap demo' shows it at work. Every command takes
    --home DIR, --namespace NS and --json.
    """


def main() -> None:
    """Run the command line and exit with its code."""
    code = run(sys.argv[1:])
    if "localcdap.tui.launch" in sys.modules:
        # All is closed. Threads that still wait for an answer would keep the program, or complain at its end.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line. Returns the exit code."""
    from localcdap.cli import errors

    arguments = order_arguments(arguments)
    try:
        result = cli.main(arguments, prog_name="localcdap", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.Abort:
        click.echo("Aborted.", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        errors.discard_stdout()
        return 0
    except LocalcdapError as error:
        return errors.show(error, arguments)
    except Exception as error:
        return errors.report(error, arguments)


def order_arguments(arguments: list[str]) -> list[str]:
    """A command line with what belongs to all commands behind the command, where that is known.

    Without a command, at a terminal or with such options, it opens the studio.

    >>> in_order(["--home", "there", "runs", "--", "x"]), in_order(["--home", "there"])
    (['runs', '--home', 'there', '--', 'x'], ['studio', '--home', 'there'])
    """
    common, rest = _split_common_options(arguments)
    if common and rest and not rest[0].startswith("-"):
        end = rest.index("--") if "--" in rest else len(rest)
        return [*rest[:end], *common, *rest[end:]]
    if common and common != ["--json"]:
        return ["studio", *common, *rest]
    if not arguments:
        from localcdap.cli.studio import is_terminal

        return ["studio"] if is_terminal() else []
    return arguments


def _split_common_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The options of all commands that stand before the command, and the rest."""
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
