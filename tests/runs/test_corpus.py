"""Real pipelines run on recorded or generated records, their sinks and actions without the systems."""

from __future__ import annotations

import base64
import io
import json
import sys
from collections import Counter
from pathlib import Path

import fastavro
import pytest

from localcdap.api.errors import InvalidPipelineError
from localcdap.home import Home
from localcdap.host import open_in_process
from localcdap.pipeline.document.model import PipelineType
from localcdap.pipeline.document.reader import read_document
from localcdap.pipeline.service import PipelineRequest
from localcdap.runs.model import Run, RunRequest, describe_stand_ins
from tests.e2e.pipelines import schema
from tests.plugins.pdf.documents import write_pdf

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3000)]
RECORDS = 50
EVERY = {
    "type:batchsource": f"generate:{RECORDS}",
    "type:batchsink": "discard",
    "type:sparksink": "discard",
    "type:action": "skip",
}
ROW = schema(id="int", name=["string", "null"])
SCHEMAS = dict.fromkeys(("outputSchema", "output_schema"), ROW)
"""Arguments for the sources whose schema is a macro."""
DYNAMIC = {
    "output.schema": ROW,
    "parser": "parse-as-csv :body ','\nrename body_1 id\nrename body_2 name\nset-type :id integer",
    "dq.checks": "uppercase :name",
}
PEOPLE = "id,name\n1,ada\n2,grace\n"
LINES = '[{"offset": 0, "body": "1,ada"}, {"offset": 6, "body": "2,grace"}]'
WITHOUT_SCHEMA = {"023": "Database", "114": "Database", "468": "File"}
"""By the number of a pipeline, its source of which no schema is known before it is read."""
COLUMNS = {"348": "Database.1", "349": "DatabaseSource"}
"""By the number of a pipeline, its source that reads the columns col1 to col4."""
TABLES = '[{"id": 1, "name": "ada", "tablename": "people"}, {"id": 2, "tablename": "others"}]'


def list_recordings(name: str, corpus: Path, people: Path) -> dict[str, str]:
    """What a pipeline needs besides generated records: records that only its system would have."""
    number = name[:3]
    if number in WITHOUT_SCHEMA:
        return {WITHOUT_SCHEMA[number]: str(people)}
    if number in COLUMNS:
        return {COLUMNS[number]: str(people.with_name("columns.csv"))}
    if number == "037":  # it reads files of Avro in a column
        return {"BigQueryTable": str(people.with_name("avro.json"))}
    if number == "093":  # the rows of several tables
        return {"Multiple Database Tables": str(people.with_name("tables.json"))}
    if number == "098":  # a hierarchy without cycles
        return {"File": str(corpus / "data" / "098" / "input_data.csv")}
    if number == "080":  # its recipe is an argument
        return {"File": str(people.with_name("lines.json"))}
    if number in ("063", "303"):  # they read PDF documents as text
        return {"File": str(people.with_name("documents.json"))}
    return {}


def encode_avro_file() -> str:
    """A file of Avro in Base64."""
    fields = [{"name": "id", "type": "long"}] + [
        {"name": name, "type": "string"} for name in ("name", "value")
    ]
    content = io.BytesIO()
    fastavro.writer(
        content,
        fastavro.parse_schema({"type": "record", "name": "r", "fields": fields}),
        [{"id": 1, "name": "ada lovelace", "value": "3"}],
    )
    return base64.b64encode(content.getvalue()).decode()


def test_nine_of_ten_valid_batch_pipelines_run_with_counts_that_add_up(
    corpus, tmp_path, engine_directory, fresh_home, monkeypatch
):
    monkeypatch.setenv("LOCALCDAP_ENGINE_DIRECTORY", str(engine_directory))
    people = tmp_path / "people.csv"
    people.write_text(PEOPLE)
    people.with_name("lines.json").write_text(LINES)
    people.with_name("columns.csv").write_text("col1,col2,col3,col4\n1,a,b,c\n")
    people.with_name("tables.json").write_text(TABLES)
    people.with_name("avro.json").write_text(json.dumps([{"id": 1, "body": encode_avro_file()}]))
    page = write_pdf("a page", Title="t").replace(b"\xe2\xe3\xcf\xd3", b"text").decode("ascii")
    people.with_name("documents.json").write_text(json.dumps([{"offset": 0, "body": page}]))
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    lines: list[str] = []
    ran: list[str] = []
    with open_in_process(Home(fresh_home(tmp_path / "home"))) as cdap:
        for file in sorted((corpus / "pipelines").glob("*.json")):
            document = read_document(file.read_text(), file.name)
            if document.type is not PipelineType.BATCH:
                continue
            request = PipelineRequest(file.read_text(), use_suggested=True)
            is_valid = not cdap.studio.validate_pipeline(request).errors
            before["valid" if is_valid else "not valid"] += 1
            outcome, run = run_recorded(cdap, document.text, file.name, corpus, people)
            after[f"{'valid' if is_valid else 'not valid'}: {outcome}"] += 1
            if outcome != "ran":
                lines.append(f"{file.name}: {outcome}: {describe(run)}")
            else:
                ran.append(file.name)
                check_counts(run)
    lines.append(f"without recordings: {dict(before)}; with recordings: {dict(after)}")
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    assert after["valid: ran"] >= 0.9 * before["valid"]
    assert after["not valid: ran"] > 0


def run_recorded(cdap, text, name, corpus, people) -> tuple[str, Run | None]:
    """Run a pipeline on its recordings; return the outcome and the run."""
    stages = {stage.plugin.type for stage in read_document(text).stages}
    recordings = {key: value for key, value in EVERY.items() if key.partition(":")[2] in stages}
    recordings |= list_recordings(name, corpus, people)
    arguments = SCHEMAS | (DYNAMIC if name.startswith("080") else {})
    try:
        run = cdap.runs.start(
            RunRequest(
                text, name=name, arguments=arguments, use_suggested=True, recordings=recordings
            )
        )
    except InvalidPipelineError as error:
        types = {each["type"] for each in error.failures}
        return ("missing plugins" if "Artifact Not Found" in types else "failures"), None
    while not run.status.is_end:
        run = cdap.runs.wait(run.run, run.version, 30)
    return ("ran" if run.status == "COMPLETED" else "failed"), run


def check_counts(run: Run) -> None:
    """Sources gave what was recorded, and every source and sink is marked."""
    assert describe_stand_ins(run)
    for each in run.stand_ins:
        if each.recording == EVERY["type:batchsource"]:
            assert run.stages[each.stage].records_out == RECORDS, (run.pipeline, each.stage)
        elif each.records is not None:
            assert run.stages[each.stage].records_out == each.records


def describe(run: Run | None) -> str:
    return run.error.message.splitlines()[0][:160] if run is not None and run.error else ""
