"""``localcdap prep``: recipes on files, with the installed plugins."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from pathlib import Path

import pytest

from localcdap.cli.main import run
from localcdap.engine.messages.host import StatementBatch
from localcdap.testing.instance import TemporaryInstance

pytestmark = pytest.mark.usefixtures("command")  # the host of the folder "home"
CONTENT = "Customer ID;Name;City\n1; ada ;Köln\n2;bob;\nx;eve;Bonn\n"
RECIPE = "trim :Name\nset-type :Customer_ID int\nfill-null-or-empty :City 'none'\n"


class Shell:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.input = folder / "in.csv"
        self.input.write_text(CONTENT, encoding="utf-8")
        self.recipe = folder / "r.recipe"
        self.recipe.write_text(RECIPE)

    def apply(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["prep", "apply", *arguments, "--home", str(self.folder / "home")])
        output = self._capsys.readouterr()
        return code, output.out, output.err

    def export(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["prep", "export", *arguments, "--home", str(self.folder / "home")])
        output = self._capsys.readouterr()
        return code, output.out, output.err


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def test_a_recipe_is_applied_to_a_file(shell: Shell) -> None:
    given = (str(shell.recipe), str(shell.input))
    code, output, errors = shell.apply(*given)
    assert (code, output) == (2, "")
    assert "Row 3: directive 2" in errors

    code, output, errors = shell.apply(*given, "--skip-failures")
    assert (code, output) == (0, "Customer_ID,Name,City\n1,ada,Köln\n2,bob,none\n")
    assert "3 rows read as csv with ';', names in the first line; 2 written; 1 failed." in errors

    left_out, result = shell.folder / "errors.json", shell.folder / "out.json"
    more = ("--skip-failures", "--errors", str(left_out), "-o", str(result), "--json")
    code, output, _ = shell.apply(*given, *more)
    assert code == 0
    answer = json.loads(output)
    assert (answer["rows_in"], answer["rows_out"], answer["failed"]) == (3, 2, 1)
    assert json.loads(left_out.read_text())["record"]["Customer_ID"] == "x"
    assert json.loads(result.read_text().splitlines()[0]) == {
        "Customer_ID": 1,
        "Name": "ada",
        "City": "Köln",
    }


@pytest.mark.slow
def test_stdin_macros_and_lines(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.recipe.write_text("parse-as-csv :body ';' true\ndrop :body\nkeep ${column}\n")
    content = io.TextIOWrapper(io.BytesIO(CONTENT.encode()))
    monkeypatch.setattr("sys.stdin", content)
    code, output, errors = shell.apply(
        str(shell.recipe), "-", "-a", "column=:Name", "--from", "text"
    )
    assert (code, output) == (0, "Name\n ada \nbob\neve\n")
    assert "read as text" in errors


@pytest.mark.slow
def test_the_recipe_of_a_pipeline(shell: Shell) -> None:
    def make_stage(name: str, directives: str) -> object:
        plugin = {"name": "Wrangler", "properties": {"directives": directives}}
        return {"name": name, "plugin": plugin}

    stages = [make_stage("one", "keep :Name"), make_stage("two", "keep :City")]
    shell.recipe.write_text(json.dumps({"config": {"stages": stages}}))
    code, _, errors = shell.apply(str(shell.recipe), str(shell.input))
    assert code == 2
    assert "'one', 'two'" in errors
    code, output, _ = shell.apply(str(shell.recipe), str(shell.input), "--stage", "two")
    assert (code, output.splitlines()[0]) == (0, "City")
    shell.recipe.write_text(json.dumps({"recipeName": "r", "directives": ["keep :Name"]}))
    code, output, _ = shell.apply(str(shell.recipe), str(shell.input))
    assert (code, output.splitlines()[0]) == (0, "Name")


RECIPE_WITHOUT_VALUE = "set-column :b '${unknown}'\nhash :Name 'MD5' true"


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        (RECIPE_WITHOUT_VALUE, "'unknown' is not defined"),
        ("// needs ${unknown}\nuppercase :Name", "'unknown' is not defined"),
        ("set-column :b '${secure(none)}'", "none"),
        ("set-column :b '${today(x)}'", "Unsupported macro function today"),
        ("set-column :b '${logicalStartTime(bbb)}'", "Illegal pattern character 'b'"),
        ("set-column :b '${open", "enclosing '}'"),
        (json.dumps({"directives": RECIPE_WITHOUT_VALUE.splitlines()}), "'unknown' is not defined"),
        (
            json.dumps(
                {
                    "config": {
                        "stages": [
                            {
                                "name": "w",
                                "plugin": {
                                    "name": "Wrangler",
                                    "properties": {
                                        "directives": "uppercase :Name",
                                        "precondition": "Name == '${unknown}'",
                                    },
                                },
                            }
                        ]
                    }
                }
            ),
            "'unknown' is not defined",
        ),
    ],
)
def test_a_macro_without_a_value_is_refused(shell: Shell, recipe: str, told: str) -> None:
    shell.recipe.write_text(recipe)
    result = shell.folder / "out.csv"
    code, _, errors = shell.apply(str(shell.recipe), str(shell.input), "-o", str(result))
    assert (code, result.exists()) == (2, False)
    assert told in errors
    code, output, errors = shell.export(str(shell.recipe), str(shell.input))
    assert (code, output) == (2, "")
    assert told in errors


@pytest.mark.slow
def test_functions_of_macros_have_values(shell: Shell) -> None:
    shell.recipe.write_text("set-column :y '${logicalStartTime(yyyy)}'\nkeep :y")
    given = (str(shell.recipe), str(shell.input), "-a", "logical.start.time=0")
    code, output, _ = shell.apply(*given)
    assert (code, output.splitlines()[:2]) == (0, ["y", "1970"])
    code, output, _ = shell.export(*given)
    assert code == 0
    assert "1970" in output


@pytest.mark.slow
def test_a_stage_does_the_same_for_a_file(shell: Shell) -> None:
    properties = {
        "directives": "set-type :Customer_ID int\nsend-to-error exp:{Name == 'bob'}",
        "precondition": "City == 'Bonn' && Name == 'none'",
        "on-error": "skip-error",
        "schema": json.dumps(
            {
                "type": "record",
                "name": "out",
                "fields": [
                    {"name": "Customer_ID", "type": "long"},
                    {"name": "more", "type": ["string", "null"]},
                ],
            }
        ),
    }
    stage = {"name": "w", "plugin": {"name": "Wrangler", "properties": properties}}
    shell.recipe.write_text(json.dumps({"config": {"stages": [stage]}}))
    given = (str(shell.recipe), str(shell.input))
    code, output, errors = shell.apply(*given)
    assert (code, output) == (0, "Customer_ID,more\n1,\n")
    assert "1 written; 1 failed; 1 sent to error." in errors
    properties |= {
        "precondition": "Name == 'eve'",
        "field": "Name",
        "directives": "uppercase :Name",
    }
    properties["schema"] = ""
    shell.recipe.write_text(json.dumps({"config": {"stages": [stage]}}))
    code, output, _ = shell.apply(*given)
    assert (code, output) == (0, "Name\n ADA \nBOB\n")
    code, _, errors = shell.apply(*given, "--spark")
    assert code == 2
    assert "has a precondition" in errors
    code, _, errors = shell.export(*given)
    assert code == 2
    assert "has a precondition" in errors


@pytest.mark.slow
def test_what_cannot_be_done_says_why(shell: Shell) -> None:
    for arguments, message in (
        (("none.recipe", str(shell.input)), "there is no such file"),
        ((str(shell.recipe), "none.csv"), "does not exist"),
        ((str(shell.recipe), str(shell.input), "--to", "pdf"), "can be written"),
    ):
        code, _, errors = shell.apply(*arguments)
        assert code == 2, arguments
        assert message in errors


@pytest.mark.parametrize("document", ['{"config": 5}', '{"config": {"stages": 7}}', "{}", "{"])
def test_a_document_without_a_recipe_says_so(shell: Shell, document: str) -> None:
    shell.recipe.write_text(document)
    code, output, errors = shell.apply(str(shell.recipe), str(shell.input))
    assert (code, output) == (2, "")
    assert str(shell.recipe) in errors


@pytest.mark.slow
def test_rules_are_obeyed(shell: Shell) -> None:
    rules = shell.folder / "rules.json"
    rules.write_text(
        json.dumps(
            [
                {"rule": "not-null", "column": "City", "action": "error"},
                {"rule": "regex", "column": "Customer_ID", "pattern": "[0-9]+"},
            ]
        )
    )
    shell.recipe.write_text("trim :Name\n")
    given = (str(shell.recipe), str(shell.input), "--expectations", str(rules))
    code, output, errors = shell.apply(*given)
    assert (code, output) == (0, "Customer_ID,Name,City\n1,ada,Köln\nx,eve,Bonn\n")
    assert "→ row 2: Expectation violated: City is not null" in errors
    assert "✗ City is not null: 33 % (1 of 3)" in errors
    assert "✗ Customer_ID matches [0-9]+: 33 % (1 of 3)" in errors

    result = shell.folder / "out.csv"
    rules.write_text(json.dumps([{"rule": "row-count", "min": 4, "action": "fail"}]))
    code, output, errors = shell.apply(*given, "-o", str(result))
    assert (code, result.exists()) == (2, False)
    assert "Expected: at least 4 rows; 3 rows." in errors

    rules.write_text(json.dumps([{"rule": "not-null", "column": "Citty"}]))
    code, output, errors = shell.apply(*given)
    assert code == 2
    assert "Did you mean 'City'?" in errors

    recipe = {"directives": ["trim :Name"], "expectations": [{"rule": "row-count", "min": 3}]}
    shell.recipe.write_text(json.dumps(recipe))
    code, output, errors = shell.apply(str(shell.recipe), str(shell.input))
    assert "✓ at least 3 rows: held, 3 rows" in errors


def test_what_is_neither_a_file_nor_a_connection(shell: Shell, capsys) -> None:
    home = ("--home", str(shell.folder / "home"))
    assert run(["prep", "nowhere:/x.csv", *home]) == 1
    assert "no connection 'nowhere'" in capsys.readouterr().err
    assert run(["connections", "put", "files", "--type", "File", *home]) == 0
    assert run(["prep", "nowhere:/x.csv", *home]) == 1
    assert "The connections are: files." in capsys.readouterr().err
    assert run(["prep", "files:/x.csv", *home]) == 2
    assert "needs a terminal" in capsys.readouterr().err


@pytest.mark.slow
def test_a_recipe_becomes_a_program(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    def export(*more: str) -> tuple[int, str, str]:
        given = (str(shell.recipe), str(shell.input), "--home", str(shell.folder / "home"))
        code = run(["prep", "export", *given, *more])
        output = capsys.readouterr()
        return code, output.out, output.err

    code, output, _ = export()
    assert code == 0
    assert "--    2  set-type :Customer_ID int" in output
    assert output.endswith("SELECT\n  `Customer_ID`,\n  `Name`,\n  `City`\nFROM step_4\n")
    script = shell.folder / "clean.py"
    assert export("--as", "pyspark", "-o", str(script)) == (0, "", f"Wrote {script}.\n")
    compile(script.read_text(), "clean.py", "exec")
    shell.recipe.write_text("trim :Name\nstemming :Name\ntitlecase :City")
    code, output, errors = export()
    assert (code, output) == (2, "")
    assert "line 2: 'stemming :Name' has no equal in Spark: there is no Spark form of it." in errors
    assert "line 3: 'titlecase :City'" in errors


def test_a_recipe_looks_up_rows_of_a_table(shell: Shell) -> None:
    with TemporaryInstance(shell.folder / "home") as instance:
        statements = [
            "CREATE TABLE towns (key VARCHAR, since INTEGER)",
            "INSERT INTO towns VALUES ('Bonn', 11), ('Köln', -38)",
        ]
        batch = StatementBatch("default", statements, ["towns"])
        instance.cdap.table_statements.carry_out(batch)
    shell.recipe.write_text("keep :Name,:City\ntable-lookup :City 'towns'\n")
    code, output, errors = shell.apply(str(shell.recipe), str(shell.input), "--skip-failures")
    assert (code, output) == (0, "Name,City,City_since\n ada ,Köln,-38\neve,Bonn,11\n"), errors
    assert "1 failed" in errors, "a null cannot be a key"

    shell.recipe.write_text("table-lookup :City 'nowhere'\n")
    code, output, errors = shell.apply(str(shell.recipe), str(shell.input))
    assert (code, output) == (2, "")
    assert "there is no table 'nowhere'; available: towns" in errors

    shell.recipe.write_text("uppercase :key\n")
    code, output, errors = shell.apply(str(shell.recipe), "towns")
    assert (code, output) == (0, "key,since\nBONN,11\nKÖLN,-38\n"), errors
    code, output, errors = shell.apply(str(shell.recipe), "twons")
    assert (code, output) == (1, "")
    assert "no table 'twons' in the namespace 'default'" in errors
    code, _, errors = shell.apply(str(shell.recipe), "towns", "--no-header")
    assert code == 2
    assert "Leave out header." in errors


def test_a_recipe_is_applied_to_data_of_a_connection(shell: Shell) -> None:
    path = shell.folder / "x.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE visits (n INT, city TEXT)")
        database.executemany("INSERT INTO visits VALUES (?, 'oslo')", [(n,) for n in range(5000)])
        database.commit()
    home = ("--home", str(shell.folder / "home"))
    given = ("--type", "SQLite", "-p", f"path={path}")
    assert run(["connections", "put", "lite", *given, *home]) == 0
    root = ("--type", "File", "-p", f"root={shell.folder}")
    assert run(["connections", "put", "files", *root, *home]) == 0
    shell.recipe.write_text("uppercase :city\n")
    code, output, errors = shell.apply(str(shell.recipe), "lite:/visits")
    expected = "".join(f"{n},OSLO\n" for n in range(5000))
    assert code == 0, errors
    assert output.endswith(f"n,city\n{expected}")
    assert shell.apply(str(shell.recipe), "lite:/nothing")[0] == 1

    shell.input.write_text(f"Customers;;\n\n{CONTENT}")
    shell.recipe.write_text("keep :City\n")
    code, output, errors = shell.apply(str(shell.recipe), "files:/in.csv")
    assert (code, output) == (0, 'City\nKöln\n""\nBonn\n')
    assert "csv with ';', without the first 2 lines, names in line 3" in errors
    assert shell.apply(str(shell.recipe), "files:/in.csv", "--skip-lines", "0")[0] == 2
