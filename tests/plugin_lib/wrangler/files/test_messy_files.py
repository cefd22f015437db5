"""Files as people get them, each with the recipe that cleans it and the rows that are wanted."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localcdap.files import workbooks
from localcdap.files.formats import FileInput, detect_format
from localcdap.files.rows import RowReader
from localcdap.plugin_lib.wrangler.files.jobs import FileJob
from localcdap.plugin_lib.wrangler.files.tasks import FileProgress, FileTask
from localcdap.plugin_lib.wrangler.recipe.builder import load_recipe

GERMAN = (
    "Umsatzliste 2023;;;;;\r\n\r\n"
    "Kunden-Nr.;Name;Umsatz (€);Datum;Bemerkung;\r\n"
    '00123;Müller GmbH;1.234,56;01.02.2023;"sagt ""hallo""";\r\n'
    "00045;Größer & Söhne;-12,50;15.03.23;;\r\n"
    '00007;Café Zoë;0,99;31.12.2022;"mehr\nZeilen";\r\n'
    "Summe;;1.223,05;;;\r\n"
)
GERMAN_RECIPE = r"""
filter-row exp:{Kunden_Nr_ == 'Summe'} true
drop :BLANK
find-and-replace :Umsatz_ s/\.//g
find-and-replace :Umsatz_ s/,/./g
set-type :Umsatz_ double
parse-as-simple-date :Datum dd.MM.yy
format-date :Datum yyyy-MM-dd
rename :Kunden_Nr_ :id
"""
MONEY = 'item,price,qty\nA,"$1,234.50","1,000"\nB,"€ 99,95",5\nC,(45.00),-3\nD,£12,\n'
MONEY_RECIPE = r"""
find-and-replace :price s/[^0-9.,()-]//g
set-column :price exp:{ price =^ '(' ? '-' + price.replace('(', '').replace(')', '') : price }
set-column :price exp:{ price =~ '.*,\\d{2}' ? price.replace(',', '.') : price.replace(',', '') }
set-type :price double
find-and-replace :qty s/,//g
set-type :qty integer
"""
DATES = 'id,on\n1,2023-01-31\n2,31/01/2023\n3,"Jan 31, 2023"\n4,31.01.23\n5,n/a\n6,\n'
DATES_RECIPE = r"""
set-column :how exp:{ on =~ '\\d{4}-.*' ? 1 : on =~ '.*/.*' ? 2 : on =~ '[A-Z].*' ? 3 : 4 }
set-column :on exp:{ on == 'n/a' ? null : on }
set-column :a exp:{ how == 1 ? on : null }
set-column :b exp:{ how == 2 ? on : null }
set-column :c exp:{ how == 3 ? on : null }
set-column :d exp:{ how == 4 ? on : null }
parse-as-simple-date :a yyyy-MM-dd
parse-as-simple-date :b dd/MM/yyyy
parse-as-simple-date :c MMM d, yyyy
parse-as-simple-date :d dd.MM.yy
set-column :on exp:{ coalesce(a, b, c, d) }
format-date :on yyyy-MM-dd
keep :id,:on
"""
ORDERS = (
    "<?xml version='1.0'?>\n<orders>\n <order id='1'><cust>Ann</cust><total>12.50</total></order>\n"
    " <order id='2'><cust>Bö</cust><total>7</total></order>\n</orders>\n"
)

FILES: list[tuple[str, bytes, str, list[dict[str, Any]]]] = [
    (
        "excel.csv",
        GERMAN.encode("cp1252"),
        GERMAN_RECIPE,
        [
            dict(zip(["id", "Name", "Umsatz_", "Datum", "Bemerkung"], each, strict=True))
            for each in [
                ("00123", "Müller GmbH", 1234.56, "2023-02-01", 'sagt "hallo"'),
                ("00045", "Größer & Söhne", -12.5, "2023-03-15", None),
                ("00007", "Café Zoë", 0.99, "2022-12-31", "mehr\nZeilen"),
            ]
        ],
    ),
    (
        "unicode.txt",
        "Id\tName\tAmt\r\n1\tŽofia\t1,5\r\n2\t李\t2,5\r\n".encode("utf-16"),
        "find-and-replace :Amt s/,/./g\nset-type :Amt double\nset-type :Id integer",
        [{"Id": 1, "Name": "Žofia", "Amt": 1.5}, {"Id": 2, "Name": "李", "Amt": 2.5}],
    ),
    (
        "ends.csv",
        b'id,text,n\r\n1,"a\nb",5\n2,"c\r\nd",6\r3,plain,7\r\n',
        "set-type :n integer",
        [
            {"id": "1", "text": "a\nb", "n": 5},
            {"id": "2", "text": "c\r\nd", "n": 6},
            {"id": "3", "text": "plain", "n": 7},
        ],
    ),
    (
        "names.csv",
        f"id,,name,Name,{'x' * 300},%pct\n1,2,3,4,5,6\n".encode(),
        "",
        [{"id": "1", "BLANK": "2", "name": "3", "Name_2": "4", "x" * 300: "5", "_pct": "6"}],
    ),
    (
        "money.csv",
        MONEY.encode(),
        MONEY_RECIPE,
        [
            {"item": "A", "price": 1234.5, "qty": 1000},
            {"item": "B", "price": 99.95, "qty": 5},
            {"item": "C", "price": -45.0, "qty": -3},
            {"item": "D", "price": 12.0, "qty": None},
        ],
    ),
    (
        "dates.csv",
        DATES.encode(),
        DATES_RECIPE,
        [
            *({"id": str(number), "on": "2023-01-31"} for number in range(1, 5)),
            {"id": "5", "on": None},
            {"id": "6", "on": None},
        ],
    ),
    (
        "nulls.csv",
        b"id,name\n007,a\x00b\n",
        r"find-and-replace :name s/\x00//g",
        [{"id": "007", "name": "ab"}],
    ),
    (
        "mysql.csv",
        b'id,text\n1,"say \\"hi\\", he said"\n',
        "",
        [{"id": "1", "text": 'say "hi", he said'}],
    ),
    (
        "fixed.txt",
        "0001Smith     19700101  12.5\n0002Müller    19851231   9.0\n".encode(),
        (
            "parse-as-fixed-length :body 4,10,8,6 ' '\ndrop :body\nset-headers :id,:name,:born,:amt\n"
            "set-type :amt double"
        ),
        [
            {"id": "0001", "name": "Smith", "born": "19700101", "amt": 12.5},
            {"id": "0002", "name": "Müller", "born": "19851231", "amt": 9.0},
        ],
    ),
    (
        "events.jsonl",
        b'{"id":1,"a":"x"}\n{"id":2,"b":{"c":1}}\n{"id":"3","a":null}\n',
        "parse-as-json :body\nset-type :body_id integer\ncolumns-replace s/^body_//",
        [
            {"id": 1, "a": "x", "b_c": None},
            {"id": 2, "a": None, "b_c": 1},
            {"id": 3, "a": None, "b_c": None},
        ],
    ),
    (
        "nested.json",
        b'{"n": 2,\n "items": [{"id": 1, "city": "X"}, {"id": 2}]}\n',
        (
            "parse-as-json :body 1\nflatten :body_items\nparse-as-json :body_items 1\n"
            "rename :body_items_id :id\nrename :body_items_city :city\ndrop :body_n"
        ),
        [{"id": 1, "city": "X"}, {"id": 2, "city": None}],
    ),
    (
        "orders.xml",
        ORDERS.encode(),
        (
            "parse-xml-to-json :body 3 true\nflatten :body_orders_order\nparse-as-json :body_orders_order\n"
            "columns-replace s/^body_orders_order_//\nset-type :total double"
        ),
        [{"id": "1", "cust": "Ann", "total": 12.5}, {"id": "2", "cust": "Bö", "total": 7.0}],
    ),
]


def apply(path: Path, recipe: str) -> FileProgress:
    """Apply a recipe to a file as ``localcdap prep apply`` does; the result is beside it, as Parquet."""
    task = FileTask(FileInput(str(path)), output=str(path.with_suffix(".parquet")))
    job = FileJob(task, load_recipe(recipe))
    while not (progress := job.work(1)).is_done:
        pass
    return progress


def read(path: Path) -> Sequence[dict[str, Any]]:
    """The rows of the result."""
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = pq.read_table(path.with_suffix(".parquet")).to_pylist()
    return rows


def column_names(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    names: list[str] = pq.read_schema(path.with_suffix(".parquet")).names
    return names


@pytest.mark.parametrize(
    ("name", "content", "recipe", "expected"), FILES, ids=[each[0] for each in FILES]
)
def test_a_file_is_cleaned(
    tmp_path: Path, name: str, content: bytes, recipe: str, expected: list[dict[str, Any]]
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    progress = apply(path, recipe)
    assert (progress.failed, progress.warnings) == (0, [])
    assert read(path) == expected


def test_a_sheet_with_a_merged_title_and_formulas_is_cleaned(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "Data"
    sheet.append(["Sales report"])
    sheet.merge_cells("A1:C1")
    sheet.append(["Region", 2023, "Date"])
    sheet.append(["North", 1.5, datetime.date(2023, 1, 31)])
    sheet.append(["South", "=B3*2", datetime.datetime(2023, 2, 1, 12, 30)])
    sheet.append(["Total", '=IF(1,"","")', None])
    book.create_sheet("Other").append(["=1+1"])
    path = tmp_path / "book.xlsx"
    book.save(path)

    progress = apply(
        path, "filter-row exp:{Region == 'Total'} true\nformat-datetime :Date 'dd.MM.yyyy HH:mm'"
    )
    assert read(path) == [
        {"Region": "North", "col_2023": 1.5, "Date": "31.01.2023 00:00"},
        {"Region": "South", "col_2023": None, "Date": "01.02.2023 12:30"},
    ]
    (warning,) = progress.warnings
    assert warning.startswith("The sheet 'Data' has 2 formulas without a stored result")


def test_formulas_without_result_are_counted_wherever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openpyxl import Workbook

    monkeypatch.setattr(workbooks, "_CHUNK", 7)
    book = Workbook()
    for number in range(1, 30):
        book.active.append([number, f"=A{number}*2" if number % 3 else "text"])
    book.save(tmp_path / "book.xlsx")
    assert workbooks.count_formulas_without_result(str(tmp_path / "book.xlsx"), 0) == 20
    assert workbooks.count_formulas_without_result(str(tmp_path / "book.xlsx"), 1) == 0


def test_the_first_visible_sheet_is_read(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["secret"])
    book.active.sheet_state = "hidden"
    sheet = book.create_sheet("Shown")
    sheet.append(["id", "name"])
    path = tmp_path / "book.xlsx"
    book.save(path)
    assert apply(path, "").rows_out == 0
    assert column_names(path) == ["id", "name"]
    sheet.append([1, "x"])
    book.save(path)
    apply(path, "")
    assert read(path) == [{"id": 1, "name": "x"}]


def test_json_may_have_doubles_that_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": NaN, "b": -Infinity}\n{"a": 1.5, "b": null}\n')
    apply(path, "")
    assert str(read(path)) == "[{'a': nan, 'b': -inf}, {'a': 1.5, 'b': None}]"
    path.write_text('[{"a": NaN}, {"a": 1e400}]')
    with pytest.raises(Exception, match="neither lines of JSON objects nor JSON documents"):
        apply(path, "")


def test_an_empty_file_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_bytes(b"")
    with pytest.raises(Exception, match="The input is empty"):
        apply(path, "")
    given = FileInput(str(path))
    assert list(RowReader(given, detect_format(given))) == []
