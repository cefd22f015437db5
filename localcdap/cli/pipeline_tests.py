"""``localcdap test``: run pipeline tests.

``localcdap test --new``: write a first test of a pipeline from its actual output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from localcdap.api.errors import BadRequestError, InvalidPipelineError, LocalcdapError
from localcdap.cli.errors import NO
from localcdap.cli.files import NamedPipeline, is_file, read_pipeline, split_version
from localcdap.cli.options import (
    Instance,
    add_strict,
    fix_option,
    flag,
    instance_options,
    pairs_option,
    parse_pairs,
    strict_option,
)
from localcdap.cli.output import echo, secho
from localcdap.cli.runs.recordings import parse_recordings, print_stand_ins, record_option
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline_tests.cases import CaseRequest, CaseResult, CaseStatus, create_case_request
from localcdap.pipeline_tests.model import PipelineTest, TestFileProblem, parse_output
from localcdap.pipeline_tests.reader import check_stages, find_tests, get_test_name, read_test
from localcdap.pipeline_tests.report import (
    MARKS,
    Outcome,
    PipelineTestReport,
    evaluate,
    format_details,
    write_junit,
)
from localcdap.pipeline_tests.service import run_cases
from localcdap.pipeline_tests.writer import update_test, write_new_test
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.host import Cdap


_COLOURS: Final = {"missing": "red", "unexpected": "green", "changed": "yellow"}


def print_report(report: PipelineTestReport, *, updated: bool = False) -> None:
    mark, colour = {
        Outcome.PASSED: ("✓", "green"),
        Outcome.FAILED: ("✗", "red"),
        Outcome.STOPPED: ("-", "yellow"),
    }[report.outcome]
    if updated:
        mark, colour = "↻", "yellow"
    note = "  updated" if updated else ""
    secho(mark, fg=colour, bold=True, nl=False)
    echo(f" {report.file}  {report.took_ms / 1000:.1f} s{note}")
    print_stand_ins(report.stand_ins)
    for line in format_details(report):
        kind = next(
            (k for k, each in MARKS.items() if re.match(rf" +{re.escape(each)} ", line)), ""
        )
        secho(f"    {line}", fg=_COLOURS.get(kind))


def print_summary(reports: Sequence[PipelineTestReport]) -> None:
    counts = {each: sum(v.outcome is each for v in reports) for each in Outcome}
    parts = [f"{count} {outcome}" for outcome, count in counts.items() if count]
    colour = "green" if counts[Outcome.PASSED] == len(reports) else "red"
    secho(", ".join(parts), fg=colour, bold=True)


def scaffold_test(
    instance: Instance,
    pipeline: str,
    paths: Sequence[Path],
    limit: int,
    arguments: dict[str, str],
    *,
    fix: bool,
) -> int:
    """Run a pipeline on a few records, write a test that expects its output, and run the test.

    :param pipeline: a pipeline file, or ``NAME`` or ``NAME@VERSION`` of a deployed pipeline.
    :param paths: the first is the test file to write; default: next to the pipeline file, or in the current
        folder.
    :returns: the exit code.
    :raises BadRequestError: when the pipeline fails.
    """
    named = NamedPipeline(pipeline)
    source = Path(pipeline) if named.file is not None else pipeline
    folder = source.parent if isinstance(source, Path) else Path()
    file = paths[0] if paths else folder / f"{named.name}.test.toml"
    if get_test_name(file) == file.name:
        raise BadRequestError(
            f"'{file}' is not the name of a test file.", "Use a name that ends in .test.toml."
        )
    with instance.connect() as cdap:
        document = read_document(named.get_document(cdap, instance.namespace), named.file)
        request = CaseRequest(
            document=document.text,
            name=named.name,
            arguments=arguments,
            records=limit,
            use_suggested=fix,
        )
        (result,) = run_cases(cdap.cases, instance.namespace, [request])
        _raise_failure(result)
        write_new_test(file, source, arguments, document, result)
        test, mistakes = read_test(file)
        assert test is not None, mistakes
        (again,) = run_cases(
            cdap.cases,
            instance.namespace,
            [create_case_request(test, document, use_suggested=fix)],
        )
    report = evaluate(test, again)
    if not instance.print_json({"file": str(file), "tests": [report]}):
        echo(f"Wrote {file}. Read it before you rely on it.")
        print_report(report)
    return 0 if report.outcome is Outcome.PASSED else NO


def _raise_failure(result: CaseResult) -> None:
    if result.errors:
        raise InvalidPipelineError(
            "The pipeline is not valid.",
            failures=[msgspec.to_builtins(each) for each in result.errors],
        )
    if result.status is not CaseStatus.COMPLETED:
        error = result.error
        raise BadRequestError(
            f"The pipeline failed: {error.message if error else result.status}",
            error.corrective_action if error else None,
        )


_NEW_RECORDS: Final = 20


_HELP: Final = """Run the pipeline tests in the files and folders PATH (default: the current folder),
which are named *.test.toml or *.test.json. PATH can also be the name of a deployed pipeline, whose
tests in the current folder are run.

A test has a pipeline, the records that replace the output of sources or other stages, and the records
that are expected of stages and sinks:

\b
  pipeline = "pipeline.json"
  [arguments]
  "input.date" = "2026-01-02"
  [given]                             # a missing field is null
  Purchases = [{ customer = "ada", price = 1.2 }, { customer = "ada" }]
  Customers = "customers.csv"         # or .json, .jsonl
  [expect]
  Spending = [{ customer = "ada", spent = 1.2 }]
  "Check.errors" = 1                  # a number of records
  [expect."By customer"]
  records = "expected.json"
  ordered = true                      # fields = ["customer"], key = […], tolerance = 0.01

"Stage.port" is a port of a splitter, "Stage.errors" the error records of a stage. Other keys:

\b
  application = "NAME[@VERSION]"      # a deployed pipeline, in place of a file
  start = 2026-01-02T03:04:05Z        # the start time of the run
  records = 10000                     # the most records read from a source that is not replaced
  timeout = 60                        # seconds
  skip = ["Action"]                   # actions that do not run
  [decisions]
  "Condition" = true                  # the results of conditions, which are not evaluated
  [fails]                             # the pipeline must fail
  when = "validation"                 # or "run"
  stage = "Parse"
  message = "a part of the message"

Sinks write nothing. Sinks and replaced stages need no values for their macros. Everything else runs
as in a preview, in one Spark session for all tests. The exit code is 1 when a test fails, 2 for
mistakes in test files.
"""


@click.command("test", help=_HELP)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("-k", "part", metavar="TEXT", help="Run only tests whose path contains TEXT.")
@click.option("--stage", metavar="S", help="Compare the records of this stage only.")
@flag("--update", "updates", help="Rewrite the expected records to match the actual output.")
@click.option(
    "--junit", metavar="FILE", type=click.Path(path_type=Path), help="Also write a JUnit report."
)
@click.option(
    "--new",
    "new",
    metavar="PIPELINE",
    help="Write a first test of a pipeline file or a deployed pipeline, with the first records of its "
    "sources, to PATH (default: next to the pipeline file, or in the current folder).",
)
@click.option(
    "--limit",
    default=_NEW_RECORDS,
    show_default=True,
    help="With --new: the most records of each source.",
)
@pairs_option("-a", "arguments", help="With --new: set a runtime argument; repeatable.")
@strict_option
@record_option
@fix_option
@instance_options
def test_command(
    instance: Instance,
    paths: tuple[Path, ...],
    part: str | None,
    stage: str | None,
    updates: bool,
    junit: Path | None,
    new: str | None,
    limit: int,
    arguments: tuple[str, ...],
    strict: bool,
    recordings: tuple[str, ...],
    fix: bool,
) -> int:
    """Run, update or scaffold pipeline tests. The exit code is 1 when a test fails."""
    if new is not None:
        return scaffold_test(instance, new, paths, limit, parse_pairs(arguments, "-a"), fix=fix)
    files = [each for each in _find_files(paths) if (part or "") in str(each)]
    if not files:
        raise BadRequestError(
            "No tests found.",
            "Write one with 'localcdap test --new pipeline.json', or name the folder of the tests.",
        )
    given = parse_recordings(recordings)
    reports = _run(instance, files, stage, given, updates=updates, strict=strict, fix=fix)
    if junit is not None:
        write_junit(junit, reports)
    if not instance.print_json({"tests": reports}):
        print_summary(reports)
    return 0 if all(each.outcome is Outcome.PASSED for each in reports) else NO


def _find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the test files that PATHs name, in order and each once.

    :raises BadRequestError: for a path that does not exist, and for a name without any test.
    """
    if not paths:
        return find_tests([Path()])
    found: dict[Path, None] = {}
    for path in paths:
        named = [path] if is_file(str(path)) else _find_tests_of(str(path))
        found |= dict.fromkeys(find_tests(named))
    return list(found)


def _find_tests_of(name: str) -> list[Path]:
    """Return the test files in the current folder whose key ``application`` names a deployed pipeline."""
    tests = (read_test(file)[0] for file in find_tests([Path()]))
    asked = split_version(name)
    found = [
        test.file
        for test in tests
        if test is not None
        and test.application is not None
        and (test.application == name or (split_version(test.application)[0], None) == asked)
    ]
    if not found:
        raise BadRequestError(
            f"There is no file or folder '{name}', and no test in the current folder is one of a deployed "
            "pipeline of that name.",
            f"Write a test of a deployed pipeline: localcdap test --new {name}",
        )
    return found


def _run(
    instance: Instance,
    files: Sequence[Path],
    stage: str | None,
    recordings: Mapping[str, str],
    *,
    updates: bool,
    strict: bool,
    fix: bool,
) -> list[PipelineTestReport]:
    """Run the tests and, without --json, print a line for each."""
    reports = []
    with instance.connect() as cdap:
        tests, documents = _read(cdap, instance, files, stage)
        for test in tests:
            test.arguments = add_strict(test.arguments, strict)
        for test, result in _run_cases(cdap, instance, tests, documents, recordings, fix=fix):
            report = evaluate(test, result, _list_outputs(test, documents[test.file], stage))
            changed = updates and _update(test, report, result)
            reports.append(report)
            if not instance.json:
                print_report(report, updated=changed)
            if changed and not report.reasons:
                report.outcome = Outcome.PASSED
    return reports


def _read(
    cdap: Cdap, instance: Instance, files: Sequence[Path], stage: str | None
) -> tuple[list[PipelineTest], dict[Path, PipelineDocument]]:
    """Return the tests, and the documents of their pipelines by test file.

    :raises BadRequestError: with every mistake in any of the files.
    """
    tests: list[PipelineTest] = []
    documents: dict[Path, PipelineDocument] = {}
    mistakes: list[TestFileProblem] = []
    for file in files:
        test, found = read_test(file)
        if test is not None and not any(
            each.key in ("", "pipeline", "application") for each in found
        ):
            try:
                document = documents[file] = _read_document(cdap, instance.namespace, test)
                found += check_stages(test, document)
                tests.append(test)
            except LocalcdapError as error:
                found.append(TestFileProblem(file, 1, "", error.full_message))
        mistakes += found
    if mistakes:
        ordered = sorted(mistakes, key=lambda each: (str(each.file), each.line))
        raise BadRequestError(
            f"{plural(len(mistakes), 'mistake')} in test files; nothing was run:\n"
            + "\n".join(map(str, ordered)),
            "See the form of test files: localcdap test --help",
        )
    known = {each.name for document in documents.values() for each in document.stages}
    if stage is not None and stage not in known:
        raise BadRequestError(
            f"No pipeline of these tests has a stage '{stage}'.",
            f"Their stages: {', '.join(sorted(known))}.",
        )
    return tests, documents


def _read_document(cdap: Cdap, namespace: str, test: PipelineTest) -> PipelineDocument:
    if test.pipeline is not None:
        return read_pipeline(str(test.pipeline))
    name, version = split_version(test.application or "")
    return read_document(cdap.applications.export(namespace, name, version))


def _run_cases(
    cdap: Cdap,
    instance: Instance,
    tests: Sequence[PipelineTest],
    documents: dict[Path, PipelineDocument],
    recordings: Mapping[str, str],
    *,
    fix: bool,
) -> Iterator[tuple[PipelineTest, CaseResult]]:
    requests = [
        create_case_request(each, documents[each.file], use_suggested=fix, recordings=recordings)
        for each in tests
    ]
    with cdap.require_same_host("the tests"):
        for result in run_cases(cdap.cases, instance.namespace, requests):
            yield tests[result.case], result


def _list_outputs(
    test: PipelineTest, document: PipelineDocument, stage: str | None
) -> list[str] | None:
    if stage is None:
        return None
    names = [each.name for each in document.stages]
    streams = {output: parse_output(output, names) for output in test.expect}
    return [output for output, stream in streams.items() if stream and stream.stage == stage]


def _update(test: PipelineTest, report: PipelineTestReport, result: CaseResult) -> bool:
    return bool(report.outputs) and bool(update_test(test, report, result))
