"""``localcdap prep apply`` with Spark: the result is that of the rows one after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localcdap.cli.main import run

pytestmark = pytest.mark.usefixtures("command")  # the host of the folder "home"
ROWS = 3000
RULES = [
    {"rule": "not-null", "column": "city", "action": "error"},
    {"rule": "unique", "columns": ["id"], "action": "error", "name": "an id is there once"},
    {"rule": "regex", "column": "name", "pattern": "[a-z0-9 ]+"},
]
NATIVE = "trim :name\nset-type :id int\nfilter-rows-on condition-true id % 97 == 0\n"
BATCHES = (
    "set-type :id long\nsplit-to-rows :tags '\\|'\nset-column :long exp:{ id * 2 + tags.length() }\n"
    "send-to-error exp:{ id % 50 == 3 }\nhash :name 'MD5' true\n"
)


class Prepared:
    """A file whose rows fail here and there, and the folder of the results."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.input = folder / "in.csv"
        lines = ["id,name,city,tags"]
        for number in range(ROWS):
            id = "x" if number % 500 == 7 else f"{number // 2 if number % 300 == 1 else number}"
            city = "" if number % 400 == 9 else f'"K{number % 7}, öst"'
            tags = "|".join("abc"[: number % 4]) or "-"
            more = ",more" if number % 1000 == 11 else ""
            lines.append(f"{id}, n{number % 13} ,{city},{tags}{more}")
        self.input.write_text("\n".join(lines), encoding="utf-8")
        self.rules = folder / "rules.json"
        self.rules.write_text(json.dumps(RULES))

    def apply(self, recipe: str, *more: str) -> tuple[int, str, str]:
        file = self.folder / "r.recipe"
        file.write_text(recipe)
        home = ("--home", str(self.folder / "home"))
        code = run(["prep", "apply", str(file), str(self.input), *more, *home])
        output = self._capsys.readouterr()
        return code, output.out, output.err

    def make(self, recipe: str, suffix: str, *more: str) -> tuple[bytes, bytes, dict[str, Any]]:
        """Return the result, the file of errors, and what the command says."""
        result, errors = self.folder / f"out.{suffix}", self.folder / "errors.json"
        options = ("--skip-failures", "-o", str(result), "--errors", str(errors), "--json")
        code, output, said = self.apply(recipe, *options, "--expectations", str(self.rules), *more)
        assert code == 0, said
        answer = json.loads(output)
        del answer["phase"]
        return result.read_bytes(), errors.read_bytes(), answer


@pytest.fixture
def prepared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Prepared:
    return Prepared(tmp_path, capsys)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_makes_the_same(prepared: Prepared) -> None:
    for recipe, suffix in ((NATIVE, "csv"), (BATCHES, "json")):
        local = prepared.make(recipe, suffix)
        assert prepared.make(recipe, suffix, "--spark-above", "1kb") == local
        _, errors, answer = local
        assert len(errors.splitlines()) > 20
        assert answer["failed"] > 6
        assert answer["sent"] > 6
        assert answer["rows_in"] == ROWS

    code, output, said = prepared.apply(NATIVE, "--spark", "-o", str(prepared.folder / "none.csv"))
    assert (code, output) == (2, "")
    assert "Row 12: Line 13: there are 5 values" in said  # before Spark reads any
    lines = prepared.input.read_text().splitlines()
    prepared.input.write_text("\n".join(each for each in lines if not each.endswith(",more")))
    code, output, said = prepared.apply(NATIVE, "--spark", "-o", str(prepared.folder / "none.csv"))
    assert (code, output) == (2, "")
    assert said == prepared.apply(NATIVE)[2]
    assert not (prepared.folder / "none.csv").exists()


def test_what_spark_cannot_run_says_so(prepared: Prepared) -> None:
    recipe = "split-to-columns :tags '\\|'\nkeep :tags_1\n"
    code, _, said = prepared.apply(recipe, "--spark", "--skip-failures")
    assert (code, "only the data tell the columns of the recipe" in said) == (2, True)
    assert "--no-spark" in said
    code, output, said = prepared.apply(recipe, "--spark-above", "1", "--skip-failures")
    assert (code, output.splitlines()[0]) == (0, "tags_1")
    assert "It ran here." in said
    assert prepared.apply(recipe, "--spark-above", "much")[0] == 2
