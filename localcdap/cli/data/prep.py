"""``localcdap prep``: prepare data with recipes, without a pipeline."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from localcdap.api.errors import BadRequestError, NotFoundError
from localcdap.cli.options import Instance, arguments_option, flag, instance_options, parse_pairs
from localcdap.cli.output import echo, is_terminal, print_json, secho
from localcdap.cli.records import print_results
from localcdap.connectors.all_records import SKIP_LINES, ConnectionData, RecordCopier
from localcdap.connectors.entities import find_connection
from localcdap.datasets.file_tables import copy_table
from localcdap.decoders import convert
from localcdap.expectations.results import RuleResult
from localcdap.expectations.rules import KEY, Expectation, parse_rules, to_json
from localcdap.files.atomic import write_file
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.method_calls import apply_recipe, build_recipe_stage, export_recipe
from localcdap.runs.recipe_rows import run_recipe_rows
from localcdap.text import format_available, plural

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from localcdap.host import Cdap


CLEAR: Final = "\r\x1b[K"
"""Moves the cursor to the beginning of the line, and clears it."""


def find_place(instance: Instance, data: str) -> tuple[str, str]:
    """Return the connection that a text begins with, as in ``files:/2026``, and the path after it.

    :raises NotFoundError: when there is no such connection.
    """
    with instance.connect() as cdap:
        names = [each.name for each in cdap.connections.list_connections(instance.namespace)]
    name = find_connection(data, names)
    if name is None:
        wanted = data.partition(":")[0]
        raise NotFoundError(
            f"There is no file at '{data}', and no connection '{wanted}'.",
            f"The connections are: {format_available(wanted, names)}."
            if names
            else "Create one: localcdap connections put NAME --type TYPE -p K=V",
        )
    return name, data[len(name) + 1 :]


def find_file(name: str, how: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """Return the input of the method ``apply`` of Wrangler for a file, or for stdin; None for a table, or
    data of a connection.

    :param how: the options that say how a file is read.
    :param folder: for what stdin has.
    """
    path = Path(name).absolute()
    if name == "-":
        path = folder / "input"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
    elif not path.exists() and (":" in name or not ("/" in name or path.suffix)):
        return None
    return {"path": str(path), **how}


def copy_rows(
    instance: Instance,
    name: str,
    how: Mapping[str, Any],
    arguments: Mapping[str, str],
    folder: Path,
) -> dict[str, Any]:
    """Return the input of the method ``apply`` for all rows of a table or behind a connection.

    :param arguments: of a run that reads them.
    :param folder: for the file of the rows.
    :raises NotFoundError: when there is no such table or connection.
    :raises BadRequestError: when the rows cannot be read, or options of files are given for a table.
    """
    file = folder / "rows.parquet"
    rows = {"path": str(file), "format": "parquet"}
    given = {key: value for key, value in how.items() if value is not None}
    if ":" not in name:
        if given:
            raise BadRequestError(
                f"'{name}' is a table, which has a schema: how a file is read does not matter.",
                f"Leave out {', '.join(sorted(given))}.",
            )
        with instance.connect() as cdap:
            _copy_table(cdap, instance.namespace, name, file)
        return rows
    connection, path = find_place(instance, name)
    keys = {"skip_lines": SKIP_LINES}
    reading = {keys.get(key, key): _write_option(value) for key, value in given.items()}
    data = ConnectionData(instance.namespace, connection, path, reading)
    with instance.connect() as cdap:
        copier = RecordCopier(cdap.connectors, cdap.runs, lambda: False, _show_share)
        local = copier.find_file(data)
        if local:
            return {"path": local, **how}
        try:
            copier.copy(data, copier.find_source(data), arguments, file)
        finally:
            if is_terminal():
                sys.stderr.write(CLEAR)
    return rows


def _copy_table(cdap: Cdap, namespace: str, name: str, file: Path) -> None:
    names = sorted(each.name for each in cdap.tables.list_tables(namespace))
    if name not in names:
        raise NotFoundError(
            f"There is no file '{name}', and no table '{name}' in the namespace '{namespace}'.",
            f"The tables are: {format_available(name, names)}." if names else None,
        )
    copy_table(cdap.sql, namespace, name, file, lambda: False)


def _show_share(share: float | None) -> None:
    if is_terminal():
        part = "" if share is None else f" {share:.0%}"
        sys.stderr.write(f"{CLEAR}  copying the records{part}")
        sys.stderr.flush()


def _write_option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_BINARY: Final = ("parquet", "excel")
_SPARK_ABOVE: Final = "1GB"
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?b?)", re.IGNORECASE)
_UNITS: Final = {
    "": 1,
    "B": 1,
    **{
        unit: 10 ** (3 * power)
        for power, prefix in enumerate("KMGT", 1)
        for unit in (prefix, f"{prefix}B")
    },
}


class _PrepGroup(click.Group):
    """Takes what is not the name of a command as data to open."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            return "open", self.commands["open"], args
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands, and the data that can be opened without naming one."""
        data = self.commands["open"].params[0]
        return [
            *super().shell_complete(ctx, incomplete),
            *data.shell_complete(ctx, incomplete),
        ]


@click.group("prep", cls=_PrepGroup)
def prep_command() -> None:
    """Prepare data with recipes of directives, without a pipeline.

    'localcdap prep FILE' opens a file, a table of the namespace, or data of a connection in the terminal
    studio. There you write the recipe, directive by directive, and its effect on a sample shows at once.
    """


@prep_command.command(
    "open",
    short_help="Open a file, a table or data of a connection in the studio; the word open can be left out.",
)
@click.argument("data", metavar="FILE|TABLE|CONNECTION:PATH")
@instance_options
def open_data(instance: Instance, data: str) -> int:
    """Open a file, a table of the namespace, or data of a connection in the prep area of the terminal studio.

    A connection, or a folder of it, is browsed: localcdap prep files:/2026/

    The recipe that was written last for the data is there again.
    """
    from localcdap.cli.instance.front_ends import open_target
    from localcdap.tui.routes import PrepTarget

    path = Path(data)
    if not path.exists() and ":" in data:
        connection, place = find_place(instance, data)
        return open_target(instance, PrepTarget(path=place, connection=connection))
    if not path.exists() and ("/" in data or path.suffix):
        raise click.UsageError(f"There is no file at '{data}'.")
    if path.is_dir():
        raise click.UsageError(f"'{data}' is a folder; name one file.")
    target = PrepTarget(path=str(path.absolute())) if path.exists() else PrepTarget(table=data)
    return open_target(instance, target)


_Command = TypeVar("_Command", bound=Callable[..., Any])


def _input_options(function: _Command) -> _Command:
    """Add the options that correct how INPUT is read."""
    options = [
        click.option(
            "--from",
            "input_format",
            metavar="FORMAT",
            help="The format of INPUT: csv, tsv, json, parquet, orc, avro, excel, text (its lines), document "
            "or blob (all of it in one row). Default: what its name, its beginning and the recipe suggest.",
        ),
        click.option(
            "--skip-lines",
            type=click.IntRange(0),
            metavar="N",
            help="Leave out the first N lines of INPUT, or rows of its sheet, such as a title above the "
            "names. Default: those with at most half as many values as the others.",
        ),
        click.option(
            "--delimiter", metavar="CHARACTER", help="What separates the values of a line."
        ),
        click.option(
            "--header/--no-header", default=None, help="Whether the first line has names."
        ),
        click.option("--encoding", help="The encoding of the text, such as Windows-1252."),
        click.option("--sheet", help="The sheet of a workbook. Default: the first one."),
    ]
    for add in reversed(options):
        function = add(function)
    return function


@prep_command.command(
    "apply", short_help="Apply a recipe to a file, a table or data of a connection."
)
@click.argument("recipe")
@click.argument("input_", metavar="FILE|TABLE|CONNECTION:PATH")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the result into FILE instead of printing it."
)
@click.option(
    "--to",
    "output_format",
    metavar="FORMAT",
    help="The format of the result: csv, tsv, json (an object on each line), parquet or excel. "
    "Default: that of the name of FILE, or csv.",
)
@_input_options
@click.option("--stage", help="The stage with the recipe, if RECIPE is a pipeline with several.")
@click.option(
    "--expectations",
    "rules",
    metavar="FILE",
    help="A JSON file with rules for the rows of the result. Default: those of the stage, or of a recipe in "
    "JSON.",
)
@flag("--skip-failures", help="Leave out rows that fail, and go on.")
@click.option(
    "--errors",
    metavar="FILE",
    help="Write the rows that are left out into FILE: a JSON object with row, message, code and record on "
    "each line.",
)
@click.option(
    "--spark/--no-spark",
    default=None,
    help="Whether Spark runs the recipe. Default: for an INPUT above the limit, where it can.",
)
@click.option(
    "--spark-above",
    "limit",
    metavar="SIZE",
    default=_SPARK_ABOVE,
    show_default=True,
    help="The size of INPUT above which Spark runs the recipe, such as 500MB or 2GB.",
)
@arguments_option
@instance_options
def apply(
    instance: Instance,
    recipe: str,
    input_: str,
    output: str | None,
    output_format: str | None,
    stage: str | None,
    rules: str | None,
    skip_failures: bool,
    input_format: str | None,
    errors: str | None,
    spark: bool | None,
    limit: str,
    arguments: tuple[str, ...],
    **how: Any,
) -> None:
    """Apply RECIPE to INPUT: row by row, or on Spark if INPUT is large. The result is the same.

    RECIPE is a file of directives, or a pipeline file with a Wrangler stage. INPUT is a file, '-' for stdin,
    a table of the namespace, or data of a connection, such as sales:/main/orders. The rows of a table and of
    a connection are copied first.

    A file of values becomes rows with its columns: texts if it is text, names without blanks and punctuation.
    If the first directive reads the column 'body', it gets lines as it does from a source of text.

    Example: localcdap prep apply clean.recipe customers.csv -o customers.parquet

    A row that fails ends the command; nothing is written then.
    """
    size = _parse_size(limit)
    properties, expectations = _read_recipe(recipe, stage)
    if rules is not None:
        expectations = parse_rules(_read_file(rules))
    format = output_format or (None if output else "csv")
    if output is None and format in _BINARY and sys.stdout.isatty():
        raise click.UsageError(f"Give --output FILE: a terminal cannot show {format}.")
    with contextlib.ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(prefix="localcdap-")))
        result = Path(output).absolute() if output else folder / "output"
        given = parse_pairs(arguments, "-a")
        how = {"format": input_format, **how}
        file = find_file(input_, how, folder) or copy_rows(instance, input_, how, given, folder)
        path = Path(file["path"])
        is_large = path.is_file() and path.stat().st_size > size
        task = {
            "input": file,
            "output": str(result),
            "output_format": format,
            "errors": None if errors is None else str(Path(errors).absolute()),
            "skips_failures": skip_failures,
            "expectations": to_json(expectations),
        }
        if spark or (spark is None and is_large):
            (folder / "spark").mkdir()
            task |= {"spark_folder": str(folder / "spark"), "needs_spark": bool(spark)}
        progress = _run(instance, Path(recipe), properties, task, given)
        if output is None and not instance.json:
            _copy_to_stdout(result)
    _print_result(instance, progress, output)


def _run(
    instance: Instance,
    file: Path,
    stage: dict[str, str],
    task: dict[str, Any],
    arguments: dict[str, str],
) -> dict[str, Any]:
    """Apply a recipe, show the progress, and return the last one.

    :param file: of the recipe, whose name a run on Spark has.
    :param stage: the properties of the stage with the recipe.
    """
    progress: dict[str, Any] = {}
    with instance.connect() as cdap, _show_progress() as show:
        make_rows = partial(
            run_recipe_rows,
            cdap.runs,
            recipe=stage["directives"],
            name=f"prep-{file.name.partition('.')[0]}",
            namespace=instance.namespace,
        )
        job = apply_recipe(cdap.methods, stage, task, instance.namespace, arguments, make_rows)
        with contextlib.closing(job):
            for progress in job:
                show(progress)
    return progress


@prep_command.command("export", short_help="Write a recipe as SQL or as a script of PySpark.")
@click.argument("recipe")
@click.argument("input_", metavar="INPUT")
@click.option(
    "--as",
    "language",
    type=click.Choice(["sql", "pyspark"]),
    default="sql",
    show_default=True,
    help="A statement of Spark SQL that reads the table 'input', or a script that reads files like INPUT.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the program into FILE.")
@_input_options
@click.option("--stage", help="The stage with the recipe, if RECIPE is a pipeline with several.")
@flag("--skip-failures", help="Have the program leave out rows that fail.")
@arguments_option
@instance_options
def export(
    instance: Instance,
    recipe: str,
    input_: str,
    language: str,
    output: str | None,
    input_format: str | None,
    stage: str | None,
    skip_failures: bool,
    arguments: tuple[str, ...],
    **how: Any,
) -> None:
    """Write RECIPE as a program that runs on Spark without localcdap, for rows like those of the file INPUT.

    Each directive must have an equal in Spark; those that have none are listed with line and reason. Rules
    are not a part of the program.

    Example: localcdap prep export clean.recipe customers.csv --as pyspark -o clean.py
    """
    properties, _ = _read_recipe(recipe, stage)
    request = {
        "language": language,
        "input": {"path": str(Path(input_).absolute()), "format": input_format, **how},
        "skips_failures": skip_failures,
    }
    given = parse_pairs(arguments, "-a")
    with instance.connect() as cdap:
        program = export_recipe(cdap.methods, properties, request, instance.namespace, given)
    if output is not None:
        write_file(Path(output), program)
    if instance.json:
        print_json({"language": language, "program": program})
    elif output is None:
        echo(program.rstrip("\n"))
    else:
        echo(f"Wrote {output}.", err=True)


def _parse_size(text: str) -> int:
    """Return the bytes of a size such as ``500MB``, ``1.5 GB`` or ``1000``.

    :raises UsageError: when it is not one.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(
            f"'{text}' is not a size such as 500MB or 2GB.", param_hint="'--spark-above'"
        )
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _read_file(name: str) -> str:
    """Return the text of a file.

    :raises BadRequestError: when it cannot be read.
    """
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise BadRequestError(f"{name}: there is no such file.", "Correct its name.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequestError(f"{name} cannot be read: {error}.") from None


def _read_recipe(name: str, stage: str | None) -> tuple[dict[str, str], list[Expectation]]:
    """Return the properties of the stage with the recipe, and its rules.

    The file has directives, a recipe in JSON, or a pipeline.

    :raises BadRequestError: when the file cannot be read, or has no recipe.
    """
    text = _read_file(name)
    if not text.lstrip().startswith("{"):
        return build_recipe_stage(text), []
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadRequestError(f"{name} is not JSON: {error}.") from None
    directives = document.get("directives")
    if isinstance(directives, list):
        return build_recipe_stage("\n".join(map(str, directives))), parse_rules(text)
    return _find_stage(name, document, stage)


def _find_stage(
    name: str, document: dict[str, Any], wanted: str | None
) -> tuple[dict[str, str], list[Expectation]]:
    read = read_document(document, name)
    wrong = [each for each in read.problems if each.field == KEY]
    if wrong:
        raise BadRequestError("\n".join(each.full_message for each in wrong), "Correct them.")
    found = {
        stage.name: ({"directives": "", **stage.plugin.properties}, list(stage.expectations))
        for stage in read.stages
        if stage.plugin.name == "Wrangler"
    }
    if wanted is not None and wanted in found:
        return found[wanted]
    if wanted is None and len(found) == 1:
        return next(iter(found.values()))
    names = ", ".join(f"'{each}'" for each in found) or "none"
    asked = f"has no Wrangler stage '{wanted}'" if wanted is not None else "is not one recipe"
    raise BadRequestError(
        f"{name} {asked}; its Wrangler stages: {names}.", "Choose one of them with --stage."
    )


@contextlib.contextmanager
def _show_progress() -> Iterator[Any]:
    """Show the progress in one line of stderr while the recipe runs, if that is a terminal."""
    if not is_terminal():
        yield lambda _progress: None
        return

    def show(progress: dict[str, Any]) -> None:
        share = progress["share"]
        part = "" if share is None else f"{share:.0%}, "
        phase = f"{progress['phase']} " if progress["phase"] else ""
        sys.stderr.write(f"{CLEAR}  {phase}{part}{plural(progress['rows_in'], 'row')} read")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write(CLEAR)


def _copy_to_stdout(path: Path) -> None:
    if sys.stdout.isatty():
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                echo(line.rstrip("\n"))
        return
    with path.open("rb") as stream:
        shutil.copyfileobj(stream, sys.stdout.buffer)
    sys.stdout.flush()


def _print_result(instance: Instance, progress: dict[str, Any], output: str | None) -> None:
    if instance.print_json(progress):
        return
    for warning in progress["warnings"]:
        secho(f"! {warning}", fg="yellow", err=True)
    if progress["replaced_bytes"]:
        count = plural(progress["replaced_bytes"], "byte")
        secho(f"! {count} outside of UTF-8 became Windows-1252.", fg="yellow", err=True)
    for problem in progress["problems"]:
        mark = "→" if problem["is_sent"] else "✗"
        secho(f"{mark} row {problem['row']}: {problem['message']}", fg="yellow", err=True)
    print_results(convert(progress["expectations"], list[RuleResult]), {}, err=True)
    left_out = progress["failed"] + progress["sent"]
    more = left_out - len(progress["problems"])
    if more:
        echo(f"… and {more:,} more rows that are left out", err=True)
    counts = f"{plural(progress['rows_in'], 'row')} read as {progress['format']}"
    result = f"{progress['rows_out']:,} written" + (f" to {output}" if output else "")
    parts = [counts, result]
    if progress["failed"]:
        parts.append(f"{progress['failed']:,} failed")
    if progress["sent"]:
        parts.append(f"{progress['sent']:,} sent to error")
    echo("; ".join(parts) + ".", err=True)
