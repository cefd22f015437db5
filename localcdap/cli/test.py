"""``localcdap test``: run golden tests of pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from localcdap.api.errors import BadRequestError, LocalcdapError
from localcdap.cli.errors import NO
from localcdap.cli.files import read_pipeline
from localcdap.cli.options import Instance, fix_option, instance_options, parse_pairs
from localcdap.cli.output import print_json
from localcdap.cli.pipelines import split_version
from localcdap.cli.scaffold_tests import scaffold_test
from localcdap.cli.test_report import print_summary, print_verdict
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline_tests.case_model import CaseResult
from localcdap.pipeline_tests.case_orders import create_case_request
from localcdap.pipeline_tests.model import PipelineTest, TestFileProblem, parse_output
from localcdap.pipeline_tests.reader import check_stages, find_tests, read_test
from localcdap.pipeline_tests.report import Outcome, PipelineTestReport, evaluate
from localcdap.pipeline_tests.report_formats import write_junit
from localcdap.pipeline_tests.service import run_cases
from localcdap.pipeline_tests.writer import update_test
from localcdap.text import plural

if TYPE_CHECKING:
    from localcdap.host import Cdap

_NEW_RECORDS: Final = 20


@click.command("test")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("-k", "part", metavar="TEXT", help="Only tests whose path contains TEXT.")
@click.option("--stage", metavar="S", help="Compare the records of this stage only.")
@click.option(
    "--update",
    "updates",
    is_flag=True,
    help="Rewrite the expected records to match the actual output.",
)
@click.option(
    "--junit", metavar="FILE", type=click.Path(path_type=Path), help="Also write a JUnit report."
)
@click.option(
    "--new",
    "new",
    metavar="PIPELINE",
    help="Write a first test of a pipeline file, with the first records of its sources, to PATH (default: "
    "next to the pipeline file).",
)
@click.option(
    "--limit",
    default=_NEW_RECORDS,
    show_default=True,
    help="With --new: the most records of each source.",
)
@click.option(
    "-a",
    "arguments",
    multiple=True,
    metavar="K=V",
    help="With --new: set a runtime argument; repeatable.",
)
@fix_option
@instance_options
def command(
    instance: Instance,
    paths: tuple[Path, ...],
    part: str | None,
    stage: str | None,
    updates: bool,
    junit: Path | None,
    new: str | None,
    limit: int,
    arguments: tuple[str, ...],
    fix: bool,
) -> int:
    """Run the tests in the files and folders PATH [the current folder], named *.test.toml or *.test.json.

    A test names a pipeline, the records that replace the output of sources or other stages, and the records
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

    Also: application = "NAME[@VERSION]" in place of pipeline, start, records, timeout, skip = ["Action"],
    [decisions] "Condition" = true, and [fails] with when = "validation" or "run", stage and message, for a
    pipeline that must fail. "Stage.port" is a port of a splitter, "Stage.errors" its error records.

    Sinks write nothing. Sinks and replaced stages need no values for their macros. Everything else runs
    as in a preview, in one Spark session for all tests. The exit code is 1 when a test fails, 2 for
    mistakes in test files.
    """  # noqa: D301
    if new is not None:
        return scaffold_test(instance, new, paths, limit, parse_pairs(arguments, "-a"), fix=fix)
    files = [each for each in find_tests(paths or [Path()]) if (part or "") in str(each)]
    if not files:
        raise BadRequestError(
            "No tests found.",
            "Write one with 'localcdap test --new pipeline.json', or name the folder of the tests.",
        )
    verdicts = _run(instance, files, stage, updates=updates, fix=fix)
    if junit is not None:
        write_junit(junit, verdicts)
    if instance.json:
        print_json({"tests": verdicts})
    else:
        print_summary(verdicts)
    return 0 if all(each.outcome is Outcome.PASSED for each in verdicts) else NO


def _run(
    instance: Instance, files: Sequence[Path], stage: str | None, *, updates: bool, fix: bool
) -> list[PipelineTestReport]:
    """Run the tests and, without --json, print a line for each."""
    verdicts = []
    with instance.connect() as cdap:
        goldens, documents = _read(cdap, instance, files, stage)
        for golden, result in _run_cases(cdap, instance, goldens, documents, fix=fix):
            verdict = evaluate(golden, result, _list_outputs(golden, documents[golden.file], stage))
            changed = updates and _update(golden, verdict, result)
            verdicts.append(verdict)
            if not instance.json:
                print_verdict(verdict, updated=changed)
            if changed and not verdict.reasons:
                verdict.outcome = Outcome.PASSED
    return verdicts


def _read(
    cdap: Cdap, instance: Instance, files: Sequence[Path], stage: str | None
) -> tuple[list[PipelineTest], dict[Path, PipelineDocument]]:
    """Return the tests, and the documents of their pipelines by test file.

    :raises BadRequestError: with every mistake in any of the files.
    """
    goldens: list[PipelineTest] = []
    documents: dict[Path, PipelineDocument] = {}
    mistakes: list[TestFileProblem] = []
    for file in files:
        golden, found = read_test(file)
        if golden is not None and not any(
            each.key in ("", "pipeline", "application") for each in found
        ):
            try:
                document = documents[file] = _read_document(cdap, instance.namespace, golden)
                found += check_stages(golden, document)
                goldens.append(golden)
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
    return goldens, documents


def _read_document(cdap: Cdap, namespace: str, golden: PipelineTest) -> PipelineDocument:
    if golden.pipeline is not None:
        return read_pipeline(str(golden.pipeline))
    name, version = split_version(golden.application or "")
    return read_document(cdap.applications.export(namespace, name, version))


def _run_cases(
    cdap: Cdap,
    instance: Instance,
    goldens: Sequence[PipelineTest],
    documents: dict[Path, PipelineDocument],
    *,
    fix: bool,
) -> Iterator[tuple[PipelineTest, CaseResult]]:
    requests = [
        create_case_request(each, documents[each.file], use_suggested=fix) for each in goldens
    ]
    for result in run_cases(cdap.cases, instance.namespace, requests):
        yield goldens[result.case], result


def _list_outputs(
    golden: PipelineTest, document: PipelineDocument, stage: str | None
) -> list[str] | None:
    if stage is None:
        return None
    names = [each.name for each in document.stages]
    streams = {output: parse_output(output, names) for output in golden.expect}
    return [output for output, stream in streams.items() if stream and stream.stage == stage]


def _update(golden: PipelineTest, verdict: PipelineTestReport, result: CaseResult) -> bool:
    return bool(verdict.outputs) and bool(update_test(golden, verdict, result))
