"""The list of problems: complete, filtered, a way to each place, and fixes where there is no doubt."""

from __future__ import annotations

from textual.widgets import OptionList

from localcdap.api.failures import ADDED_PROPERTY, ARTIFACT_NOT_FOUND
from tests.tui.inspector.bench import inspecting, pipeline

DOCUMENT = pipeline(
    "File:batchsource Projection:transform Trash:batchsink",
    File={"referenceName": "in", "path": "x", "sampleSize": "abc", "formt": "csv"},
    Trash={"referenceName": "out"},
)
DOCUMENT["config"]["stages"][1]["plugin"]["artifact"] = {
    "name": "core-plugins",
    "version": "0.0.1",
    "scope": "SYSTEM",
}


def listed(b) -> list[tuple[str | None, str | None]]:
    return [(failure.stage, failure.field) for failure in b.problems.shown]


async def test_all_is_listed_filtered_and_repaired(cdap, home):
    async with inspecting(cdap, home, DOCUMENT, "Trash") as b:
        assert ("File", "sampleSize") in listed(b)
        assert listed(b)[-1] == ("File", "formt")  # a warning comes behind all failures
        missing = next(f for f in b.problems.shown if f.type == ARTIFACT_NOT_FOUND)
        assert missing.stage == "Projection"

        b.problems.query_one(OptionList).focus()
        await b.driver.press("slash")
        await b.driver.type("sampl")
        assert listed(b) == [("File", "sampleSize")]
        await b.driver.press("enter", "enter")
        await b.settled()
        assert b.inspector.stage == "File"
        assert b.form.fields["sampleSize"].has_focus_within
        for _ in "abc":
            await b.driver.press("delete", "backspace")
        await b.settled()
        assert not b.problems.shown

        b.problems.query_one(OptionList).focus()
        await b.driver.press("escape")
        await b.settled()
        assert ("File", "sampleSize") not in listed(b)
        assert b.problems.explain_disabled("fix_all") is None
        await b.driver.press("X")
        await b.settled()
        assert b.editor.get_properties("File")["format"] == "csv"
        assert b.editor.get_stage("Projection").plugin.artifact.version != "0.0.1"
        b.editor.undo()
        await b.settled()
        assert "formt" in b.editor.get_properties("File")  # all fixes are one edit


async def test_the_highlight_stays_on_its_failure(cdap, home):
    async with inspecting(cdap, home, DOCUMENT, "File") as b:
        b.problems.query_one(OptionList).focus()
        while listed(b)[b.problems.query_one(OptionList).highlighted] != ("File", "formt"):
            await b.driver.press("down")
        assert b.problems.explain_disabled("fix") is None
        await b.type_into("sampleSize", "\b")
        b.editor.detect(["File"])
        await b.settled()
        assert listed(b)[b.problems.query_one(OptionList).highlighted] == ("File", "formt")


async def test_columns_are_numbered_as_by_earlier_versions_or_as_in_cdap(cdap, home):
    document = pipeline(
        "File:batchsource Wrangler:transform Trash:batchsink",
        File={"referenceName": "in", "path": "x", "format": "csv"},
        Wrangler={"directives": "rename :body_1 :id", "field": "*"},
        Trash={"referenceName": "out"},
    )
    async with inspecting(cdap, home, document, "Trash") as b:
        assert ("File", "firstColumnNumber") in listed(b)
        b.problems.query_one(OptionList).focus()
        await b.driver.press("X")
        await b.settled()
        assert b.editor.get_properties("File")["firstColumnNumber"] == "1"
        (warning,) = [each for each in b.problems.shown if each.field == "firstColumnNumber"]
        assert warning.type == ADDED_PROPERTY

        await b.driver.press("X")
        await b.settled()
        assert "firstColumnNumber" not in b.editor.get_properties("File")
        assert b.editor.get_properties("Wrangler")["directives"] == "rename :body_0 :id"
        assert ("File", "firstColumnNumber") not in listed(b)
