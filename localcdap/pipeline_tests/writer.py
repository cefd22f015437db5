"""Writer of test files: a first test with the actual output of a pipeline, and updates of expected
records.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from localcdap.api.errors import ConflictError
from localcdap.engine.messages.flow import SINKS, SOURCE
from localcdap.files.atomic import write_file
from localcdap.pipeline.document.model import PipelineDocument
from localcdap.pipeline_tests.cases import CaseResult
from localcdap.pipeline_tests.model import Expectation, PipelineTest, write_records
from localcdap.pipeline_tests.report import PipelineTestReport, get_actual_output

if TYPE_CHECKING:
    from tomlkit.items import Item

_MOST_INLINE: Final = 50
"""The most records that are written into the test file itself; more are written to a separate file."""


def write_new_test(
    file: Path,
    pipeline: Path | str,
    arguments: dict[str, str],
    document: PipelineDocument,
    result: CaseResult,
) -> None:
    """Write a test that passes now: with the records of sources as input, and those of sinks and error
    outputs as expected records.

    :param pipeline: the pipeline file, or ``NAME`` or ``NAME@VERSION`` of a deployed pipeline.
    :raises ConflictError: when the file exists.
    :raises BadRequestError: when the file cannot be written.
    """
    import tomlkit

    if file.exists():
        raise ConflictError(f"{file} exists already.", "Name another file, or use --update.")
    content = tomlkit.document()
    if isinstance(pipeline, Path):
        content["pipeline"] = os.path.relpath(pipeline, file.parent)
    else:
        content["application"] = pipeline
    for title, table in (
        ("arguments", dict(arguments)),
        ("given", _list_given(document, result)),
        ("expect", _list_expected(document, result)),
    ):
        if table or title == "expect":
            made = tomlkit.table()
            for name, value in table.items():
                made[name] = (
                    _format_records(file, name, value) if isinstance(value, list) else value
                )
            content[title] = made
    write_file(file, tomlkit.dumps(content))


def update_test(test: PipelineTest, report: PipelineTestReport, result: CaseResult) -> list[str]:
    """Replace the expected records of each output that differs by the actual ones; keep the rest of the file.

    :returns: the outputs whose expectations were changed.
    :raises BadRequestError: when a file cannot be written.
    """
    text = test.file.read_text(encoding="utf-8-sig")
    content: Any
    if test.file.suffix == ".json":
        content = json.loads(text)
    else:
        import tomlkit

        content = tomlkit.parse(text)
    changed = [each.output for each in report.outputs]
    for output in changed:
        _update(test, content["expect"], output, result)
    if test.file.suffix == ".json":
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    else:
        text = tomlkit.dumps(content)
    write_file(test.file, text)
    return changed


def _update(test: PipelineTest, expect: Any, output: str, result: CaseResult) -> None:
    how, given = test.expect[output], get_actual_output(output, result)
    is_table = isinstance(expect[output], dict)
    if how.count is not None:
        if is_table:
            expect[output]["count"] = given.count
        else:
            expect[output] = given.count
    if how.records is None:
        return
    records = [_select_compared_fields(each, how) for each in given.records]
    if how.records.file is not None:
        write_records(how.records.file, records)
        return
    value = records if test.file.suffix == ".json" else _format_records(test.file, output, records)
    if is_table:
        expect[output]["records"] = value
    else:
        expect[output] = value


def _select_compared_fields(record: Any, how: Expectation) -> Any:
    """Return the record with only the fields that are compared."""
    names = how.fields
    if how.named_only and how.records is not None:
        names = list(dict.fromkeys(name for each in how.records.records for name in each))
    if names is None or not isinstance(record, dict):
        return record
    kept = {*names, *how.key}
    return {name: value for name, value in record.items() if name in kept}


def _list_given(document: PipelineDocument, result: CaseResult) -> dict[str, list[Any]]:
    sources = [each.name for each in document.stages if each.plugin.type == SOURCE]
    return {name: result.stages[name].records for name in sources if name in result.stages}


def _list_expected(document: PipelineDocument, result: CaseResult) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for stage in document.stages:
        sample = result.stages.get(stage.name)
        if sample is not None and sample.errors:
            found[f"{stage.name}.errors"] = get_actual_output(
                f"{stage.name}.errors", result
            ).records
        if sample is not None and stage.plugin.type in SINKS:
            found[stage.name] = sample.records
    return found


def _format_records(file: Path, output: str, records: list[Any]) -> Item | str:
    """Return records as a TOML array, one per line, or the name of a new file if TOML cannot represent
    them.
    """
    import tomlkit

    if len(records) > _MOST_INLINE or _has_null_item(records):
        name = re.sub(r"[^\w.-]+", "-", f"{file.name.split('.')[0]}.{output}").lower() + ".json"
        write_records(file.parent / name, records)
        return name
    array = tomlkit.array().multiline(bool(records))
    for record in records:
        array.append(_inline(record))
    return array


def _inline(value: Any) -> Any:
    """Return a value for TOML, which has no null: null fields are left out."""
    if isinstance(value, dict):
        import tomlkit

        table = tomlkit.inline_table()
        for name, each in value.items():
            if each is not None:
                table[name] = _inline(each)
        return table
    return [_inline(each) for each in value] if isinstance(value, list) else value


def _has_null_item(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_null_item(each) for each in value.values())
    return isinstance(value, list) and any(each is None or _has_null_item(each) for each in value)
