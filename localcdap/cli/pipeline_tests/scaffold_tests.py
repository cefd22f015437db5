"""``localcdap test --new``: write a first test of a pipeline from its actual output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from localcdap.api.errors import BadRequestError, InvalidPipelineError
from localcdap.cli.errors import NO
from localcdap.cli.files import NamedPipeline
from localcdap.cli.options import Instance
from localcdap.cli.output import echo, print_json
from localcdap.cli.pipeline_tests.test_report import print_report
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline_tests.case_model import CaseRequest, CaseResult, CaseStatus
from localcdap.pipeline_tests.case_orders import create_case_request
from localcdap.pipeline_tests.reader import get_test_name, read_test
from localcdap.pipeline_tests.report import Outcome, evaluate
from localcdap.pipeline_tests.service import run_cases
from localcdap.pipeline_tests.writer import write_new_test


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
    if instance.json:
        print_json({"file": str(file), "tests": [report]})
    else:
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
