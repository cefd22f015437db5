"""What is said of a test, and what is written into its file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from localcdap.api.failures import ValidationFailure
from localcdap.api.schema import Schema
from localcdap.engine.messages.samples import PortSample, RejectedRecord, StageProblem, StageSample
from localcdap.pipeline_tests.cases import CaseResult, CaseStatus
from localcdap.pipeline_tests.model import Expectation, ExpectedFailure, PipelineTest, Records
from localcdap.pipeline_tests.reader import read_test
from localcdap.pipeline_tests.report import Outcome, evaluate, format_details, write_junit
from localcdap.pipeline_tests.writer import update_test
from localcdap.runs.model import RunError

ROW = Schema.parse('{"type":"record","name":"r","fields":[{"name":"id","type":"int"}]}')
STAGES = {
    "Out": StageSample(ROW, [{"id": 1}, {"id": 2}], [RejectedRecord({"id": 3}, 4, "no")], {}, 2, 1),
    "Split": StageSample(ports={"big": PortSample(ROW, [{"id": 1}], 1)}, count=1),
}
DONE = CaseResult(0, CaseStatus.COMPLETED, STAGES)
FAILED = CaseResult(
    0,
    CaseStatus.FAILED,
    {"Parse": StageSample(problems=[StageProblem("boom", stage="Parse")])},
    error=RunError("boom", None, "Parse"),
)
INVALID = CaseResult(
    0, CaseStatus.INVALID, errors=[ValidationFailure("Stage", "no such field", None, [], "Sum")]
)


def reasons(
    result: CaseResult, fails: ExpectedFailure | None = None, **expect: Expectation
) -> list[str]:
    golden = PipelineTest(file=Path("t.test.toml"), name="t", expect=expect, fails=fails)
    return format_details(evaluate(golden, result))


def test_outputs_of_every_kind():
    golden = PipelineTest(
        file=Path("t.test.toml"),
        name="t",
        expect={
            "Out": Expectation(Records([{"id": "1"}, {"id": "2"}], are_text=True)),
            "Out.errors": Expectation(Records([{"record": {"id": 3}, "code": 4, "message": "no"}])),
            "Split.big": Expectation(count=1),
            "Not run": Expectation(count=0),
        },
    )

    assert evaluate(golden, DONE).outcome is Outcome.PASSED


def test_what_differs_is_reported_by_output():
    assert reasons(DONE, Out=Expectation(Records([{"id": 1}]))) == [
        "Out: expected 1 records, got 2",
        "  + id=2",
    ]
    assert reasons(DONE, Out=Expectation(count=9)) == ["Out: expected 9 records, got 2"]
    (line,) = reasons(DONE, Split=Expectation(count=1))
    assert "'Split.big'" in line
    (line,) = reasons(DONE, **{"Split.small": Expectation(count=1)})
    assert "its ports: big" in line


def test_failures_that_are_expected_and_others():
    assert reasons(FAILED, ExpectedFailure("boom", "Parse", "run")) == []
    assert reasons(INVALID, ExpectedFailure("field", None, "validation")) == []
    assert reasons(FAILED) == ["The pipeline failed: Parse: boom"]
    assert reasons(INVALID) == ["The pipeline is not valid: Sum: no such field"]
    assert reasons(DONE, ExpectedFailure()) == ["The pipeline was expected to fail, but did not."]
    assert reasons(FAILED, ExpectedFailure(when="validation")) == [
        "Expected to fail at validation, but it failed at run."
    ]
    assert reasons(FAILED, ExpectedFailure("boom", "Other")) == [
        "Expected a failure of stage 'Other' with 'boom', but got: Parse: boom"
    ]


def test_junit_has_every_test_and_only_what_xml_can_hold(tmp_path: Path):
    bad = PipelineTest(file=Path("a/t.test.toml"), name="t", expect={"Out": Expectation(count=9)})
    verdicts = [
        evaluate(bad, DONE),
        evaluate(PipelineTest(file=Path("b.test.toml"), name="b\x00&"), DONE),
        evaluate(
            PipelineTest(file=Path("c.test.toml"), name="c"), CaseResult(0, CaseStatus.KILLED)
        ),
    ]

    write_junit(tmp_path / "new" / "j.xml", verdicts)

    suite = ElementTree.parse(tmp_path / "new" / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    names = [(each.get("name"), each.get("classname")) for each in suite]
    assert names == [("t", "a"), ("b\ufffd&", "."), ("c", ".")]
    assert suite.findtext("testcase/failure") == "Out: expected 9 records, got 2"


def test_an_update_changes_what_differs_and_leaves_the_rest(tmp_path: Path):
    (tmp_path / "p.json").write_text("{}")
    (tmp_path / "two.csv").write_text("id\n7\n")
    file = tmp_path / "t.test.toml"
    file.write_text(
        """# kept
pipeline = "p.json"
[expect]
"Out.errors" = 2   # so many
Out = "two.csv"
[expect."Split.big"]
ordered = true
records = [{ id = 9 }]
"""
    )
    golden, mistakes = read_test(file)
    assert golden is not None
    assert mistakes == []

    changed = update_test(golden, evaluate(golden, DONE), DONE)

    assert changed == ["Out.errors", "Out", "Split.big"]
    assert file.read_text() == (
        """# kept
pipeline = "p.json"
[expect]
"Out.errors" = 1   # so many
Out = "two.csv"
[expect."Split.big"]
ordered = true
records = [
    {id = 1},
]
"""
    )
    assert (tmp_path / "two.csv").read_text() == "id\n1\n2\n"
    again, _ = read_test(file)
    assert again is not None
    assert evaluate(again, DONE).outcome is Outcome.PASSED
