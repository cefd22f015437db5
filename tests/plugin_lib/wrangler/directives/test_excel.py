"""parse-as-excel."""

from __future__ import annotations

import datetime
import io
import zipfile

import openpyxl
import pytest

from localcdap.files.cell_texts import format_cell_date
from tests.plugin_lib.wrangler.directives.recipes import run, run_failing

MOMENT = datetime.datetime(2017, 3, 5, 15, 4, 9, 250_000)


def book(*rows: list, formats: dict[str, str] | None = None, title: str = "People") -> bytes:
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    for place, format in (formats or {}).items():
        sheet[place].number_format = format
    made.create_sheet("Other").append(["x"])
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


PEOPLE = book(
    ["id", "name", None, "age"], [1, "Ann", None, 22.5], [], ["  "], [2, None, True, None]
)


def test_rows_are_texts_by_letter():
    made = run("parse-as-excel :body '0'", {"body": PEOPLE, "k": 1})

    assert made == [
        {"fwd": 0, "bkd": 2, "A": "id", "B": "name", "D": "age", "k": 1},
        {"fwd": 1, "bkd": 1, "A": "1.0", "B": "Ann", "D": "22.5", "k": 1},
        {"fwd": 2, "bkd": 0, "A": "2.0", "C": "true", "k": 1},
    ]


@pytest.mark.parametrize("sheet", ["0", "People", "people"])
def test_the_first_row_may_name_the_columns(sheet):
    made = run(f"parse-as-excel :body '{sheet}' true", {"body": PEOPLE, "id": "old", "k": 1})

    assert made == [
        {"fwd": 1, "bkd": 1, "id": "1.0", "name": "Ann", "age": "22.5", "k": 1},
        {"fwd": 2, "bkd": 0, "id": "2.0", "C": "true", "k": 1},
    ]


def test_the_older_form():
    assert len(run("parse-as-excel body , true", {"body": book(["a"], [1], title=",")})) == 1


def test_sheets_and_formulas():
    assert run("parse-as-excel :b '1'", {"b": PEOPLE}) == [{"fwd": 0, "bkd": 0, "A": "x"}]
    assert run("parse-as-excel :b", {"b": book(["=1+1", "#N/A", "x"])})[0]["C"] == "x"


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("m/d/yy", "3/5/17"),
        ("mm-dd-yy", "03-05-17"),
        ("yyyy-mm-dd hh:mm:ss", "2017-03-05 15:04:09"),
        ("d-mmm-yy", "5-Mar-17"),
        ("[$-409]dddd, mmmm d, yyyy;@", "Sunday, March 5, 2017"),
        ("h:mm AM/PM", "3:04 PM"),
        ("hh:mm a/p", "03:04 PM"),
        ("mm:ss.0", "04:09.3"),
        ("mmmmm ddd", "M Sun"),
        ('yyyy"year" \\m m', "2017year m 3"),
    ],
)
def test_dates_are_written_by_the_format_of_their_cell(format, text):
    assert format_cell_date(MOMENT, format) == text


def test_dates_of_cells():
    content = book(
        [MOMENT, datetime.date(2017, 3, 5), datetime.time(5, 6), datetime.timedelta(hours=30)],
        formats={"A1": "d/m/yyyy h:mm", "B1": "yyyy/mm/dd", "C1": "h:mm", "D1": "[h]:mm"},
    )
    (row,) = run("parse-as-excel :b", {"b": content})
    assert [row[name] for name in "ABCD"] == ["5/3/2017 15:04", "2017/03/05", "5:06", "30:00"]


def test_columns_beyond_z():
    (row,) = run("parse-as-excel :b", {"b": book([*["x"] * 703])})
    assert list(row)[-1] == "AAA"


def test_a_million_rows_that_a_small_file_claims_are_refused():
    source = zipfile.ZipFile(io.BytesIO(book(["x"])))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for part in source.namelist():
            content = source.read(part).replace(b'<row r="1"', b'<row r="99999999999"')
            made.writestr(part, content)
    assert (
        "more than 1048576 rows"
        in run_failing("parse-as-excel :b", {"b": stream.getvalue()}).message
    )


def test_a_zip_bomb_is_refused():
    stream = io.BytesIO(PEOPLE)
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as made:
        made.writestr("xl/bomb.xml", b"0" * 20_000_000)
    assert (
        "grows more than 100 times"
        in run_failing("parse-as-excel :b", {"b": stream.getvalue()}).message
    )


@pytest.mark.parametrize(
    ("recipe", "value"),
    [
        ("parse-as-excel :b 'wrong_error'", PEOPLE),
        ("parse-as-excel :b '7'", PEOPLE),
        ("parse-as-excel :b", b"no workbook"),
        ("parse-as-excel :b", PEOPLE[:-100]),
        ("parse-as-excel :b", None),
        ("parse-as-excel :b", "text"),
    ],
)
def test_what_is_no_workbook_goes_to_the_error_port(recipe, value):
    made = run_failing(recipe, {"b": value})

    assert (made.kind, made.code) == (2, 1)
    assert made.message.endswith("(ecode: 1, directive: parse-as-excel)")


def test_a_row_without_the_column_is_dropped():
    assert run("parse-as-excel :b", {"a": 1}) == []
