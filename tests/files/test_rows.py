"""The rows of files in all formats, and of files that are not as their format says."""

from __future__ import annotations

import bz2
import contextlib
import datetime
import gzip
import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from localcdap.api import StageError
from localcdap.api.errors import BadRequestError
from localcdap.files import limits
from localcdap.files.delimited import UnreadableRow
from localcdap.files.formats import FileInput, describe_format, detect_format
from localcdap.files.rows import RowReader
from localcdap.files.titles import make_safe_names


def read(
    path: Path,
    content: bytes | str | None = None,
    **how: Any,
) -> list[Any]:
    """The rows of a file; an unreadable one as its message."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    given = FileInput(str(path), **how)
    reader = RowReader(given, detect_format(given))
    items = list(reader)
    assert reader.share in (1.0, None)
    reader.close()
    return [each.message if isinstance(each, UnreadableRow) else each for each in items]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_and_names_are_found(tmp_path: Path, delimiter: str) -> None:
    lines = ["Unit price,first name,", '"1.5",x y,1', "", ",,", '2,"a, b\nc",3,,']
    content = "\n".join(lines).replace(",", delimiter)
    quoted = f"a{delimiter} b\nc"
    assert read(tmp_path / "a.csv", content) == [
        {"Unit_price": "1.5", "first_name": "x y", "BLANK": "1"},
        {"Unit_price": None, "first_name": None, "BLANK": None},
        {"Unit_price": "2", "first_name": quoted, "BLANK": "3"},
    ]


def test_a_backslash_may_escape_quotes(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", 'a,b\n"C:\\",C:\\x\n1,"say \\"hi\\", he said"\n2,"\\"x\\""\n')
    assert found == [
        {"a": "C:\\", "b": "C:\\x"},
        {"a": "1", "b": 'say "hi", he said'},
        {"a": "2", "b": '"x"'},
    ]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("country,2019,2020\nDE,1,2\nFR,3,\n", ["country", "col_2019", "col_2020"]),
        ("country,2019\nDE,1999\nFR,x\n", ["country", "col_2019"]),
        ("Ann,1990,2001\nBob,1991,2002\n", ["body_1", "body_2", "body_3"]),
        ("Ann,1990,1990\nBob,1,2\n", ["body_1", "body_2", "body_3"]),
        ("2019,2020\n1,2\n", ["body_1", "body_2"]),
        ("DE,12\nFR,x\n", ["body_1", "body_2"]),
    ],
)
def test_years_may_be_names(tmp_path: Path, content: str, names: list[str]) -> None:
    assert list(read(tmp_path / "a.csv", content)[0]) == names


@pytest.mark.parametrize(
    ("content", "first"),
    [
        ("id\tname\n1\tAnn, B\n", {"id": "1", "name": "Ann, B"}),
        ("id;name\n1;2,5\n", {"id": "1", "name": "2,5"}),
        ("id,name,on\n1,Ann,2024-01-01\n", {"id": "1", "name": "Ann", "on": "2024-01-01"}),
        ("Hello, world.\nBye, world.\n", {"body": "Hello, world."}),
        ("A, b, c\nd, e, f\n", {"body": "A, b, c"}),
        ("0001Smith     12\n0002Ng        13\n", {"body": "0001Smith     12"}),
        ("a|b\nc\n", {"body": "a|b"}),
    ],
)
def test_a_text_file_may_hold_a_table(tmp_path: Path, content: str, first: dict[str, str]) -> None:
    assert read(tmp_path / "a.txt", content)[0] == first
    assert read(tmp_path / "b.txt", content.encode("utf-16"))[0] == first


def test_a_first_line_with_numbers_has_no_names(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", "1,a\n2,b\n") == [
        {"body_1": "1", "body_2": "a"},
        {"body_1": "2", "body_2": "b"},
    ]
    assert read(tmp_path / "a.csv", header=True) == [{"col_1": "2", "a": "b"}]
    assert read(tmp_path / "b.csv", "a,b\n1,2\n", header=False)[0] == {"body_1": "a", "body_2": "b"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2,3", "Line 2: there are 3 values, but 2 columns."),
        (
            '"1"x,2',
            "Line 2: text follows the closing quote of value 1. A quote within quotes is written twice.",
        ),
        (
            '1,"a "b" c"',
            "Line 2: text follows the closing quote of value 2. A quote within quotes is written twice.",
        ),
    ],
)
def test_a_wrong_line_is_one_unreadable_row(tmp_path: Path, line: str, message: str) -> None:
    found = read(tmp_path / "a.csv", f"a,b\n{line}\n3,4\n")
    assert found == [message, {"a": "3", "b": "4"}]


def test_a_quote_without_end_is_found(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", 'a,b\n1,2\n3,"x\n4,5\n6,7\n')
    message = "Line 3: the quote at the beginning of value 2 is not closed"
    lost = ", so that the 2 lines after it cannot be read. Close it or remove it."
    assert found == [{"a": "1", "b": "2"}, message + lost]
    # The record begins in a line before: its first value has two lines.
    found = read(tmp_path / "a.csv", 'a,b,c\n"x\n""y""",2"3,"4\n')
    assert found == [
        "Line 3: the quote at the beginning of value 3 is not closed. Close it or remove it."
    ]
    found = read(tmp_path / "a.csv", 'a,b\n1,"x\n2,3\n4,"5"\n6,7\n')
    assert found == [
        "Lines 2 to 4: text follows the closing quote of value 2; is a quote not closed?",
        {"a": "6", "b": "7"},
    ]


@pytest.mark.parametrize(
    ("content", "count"),
    [
        ("Report of sales\n\na,b,c\n1,2,3\n", 2),
        ('"Report,\n2026",,\na,b,c\n1,2,3\n', 2),  # as a sheet writes it
        (
            "Umsatz 2023;;;\n\nNr.;Name;Umsatz;\n1;Ann;2,5;\nSumme;;2,5;\n",
            2,
        ),  # a delimiter at the end
        ("\na,b\n1,2\n", 1),
        ("a,b\n1,2,3\n4,5,6\n", 0),  # a short line of names
        ("1,,\n2,,\n3,4,5\n", 0),  # rows with few values
        ("x,,\ny,1,2\n", 0),
        ("a\nb\nc\n", 0),
    ],
)
def test_lines_above_the_table_are_left_out(tmp_path: Path, content: str, count: int) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    format = detect_format(FileInput(str(path)))
    assert format.skip_lines == count
    where = f", without the first {count} lines, names in line {count + 1}"
    assert (where in describe_format(format)) == (count > 1)
    if count:
        rest = content.splitlines()[count].split(format.delimiter)
        assert list(read(path)[0]) == make_safe_names(rest)
        assert read(path, skip_lines=count + 1, header=False)[0]["body_1"] == "1"


def test_lines_are_left_out_where_there_are_some(tmp_path: Path) -> None:
    found = read(tmp_path / "a.csv", "x,y,z\na,b\n1,2,3\n", skip_lines=1, header=True)
    assert found == ["Line 3: there are 3 values, but 2 columns."]
    assert read(tmp_path / "a.txt", "one\ntwo\n", skip_lines=1) == [{"body": "two"}]
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(BadRequestError, match="cannot be left out where it is read as json"):
        detect_format(FileInput(str(tmp_path / "a.json"), skip_lines=1))


def test_blanks_after_a_quote_are_no_error(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", 'a,b\n"1" ,2\n') == [{"a": "1", "b": "2"}]


def test_huge_values_are_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGEST_VALUE", 100)
    found = read(tmp_path / "a.csv", f"a,b\n1,{'x' * 200}\n3,4\n")
    assert found == [
        "Line 2: value 2 has more than 100 characters; is a quote not closed?",
        {"a": "3", "b": "4"},
    ]
    long = read(tmp_path / "a.txt", f"one\n{'x' * 250}\n\ntwo")
    assert long == [
        {"body": "one"},
        "Line 2: it has more than 100 characters.",
        {"body": ""},
        {"body": "two"},
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    assert read(tmp_path / "a.csv", "a,b\né,2\n".encode(encoding)) == [{"a": "é", "b": "2"}]


def test_bytes_outside_of_utf_8_are_windows_1252_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a\né\n".encode() + "€é\n".encode("cp1252"))
    given = FileInput(str(path))
    reader = RowReader(given, detect_format(given))
    assert list(reader) == [{"a": "é"}, {"a": "€é"}]
    assert reader.replaced == 2
    assert read(path, "a\né\n".encode("latin-1"), encoding="ISO-8859-1") == [{"a": "é"}]


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files(tmp_path: Path, suffix: str, compress: Any) -> None:
    assert read(tmp_path / f"a.csv{suffix}", compress(b"a;b\n1;2\n")) == [{"a": "1", "b": "2"}]


def test_json_lines_and_documents(tmp_path: Path) -> None:
    rows = [{"a": 1, "b": {"c": [1]}}, {"a": None}]
    lines = "\n\n".join(map(json.dumps, rows))
    assert read(tmp_path / "a.jsonl", lines) == rows
    assert read(tmp_path / "b.json", json.dumps(rows, indent=2)) == rows
    assert read(tmp_path / "c.json", json.dumps(rows[0], indent=2)) == rows[:1]
    assert read(tmp_path / "d.json", '{"a":1}\n[2]\n{"a":\n') == [
        {"a": 1},
        "Line 2 is not a JSON object.",
        "Line 3 is not a JSON object.",
    ]
    assert read(tmp_path / "e.json", "[1, {}]") == ["Element 1 is not a JSON object.", {}]
    assert read(tmp_path / "f.json", "") == []
    following = "".join(json.dumps(row, indent=1) for row in rows)
    assert read(tmp_path / "h.json", following) == rows
    assert read(tmp_path / "i.json", ",\n".join(map(json.dumps, rows))) == rows
    with pytest.raises(StageError, match="neither lines of JSON objects nor JSON documents"):
        read(tmp_path / "g.json", "[1,")


def test_files_with_types(tmp_path: Path) -> None:
    rows = [
        {"n": 1, "t": datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC)},
        {"n": 2, "t": None},
    ]
    table = pa.Table.from_pylist(
        rows, pa.schema([("n", pa.int64()), ("t", pa.timestamp("us", "UTC"))])
    )
    pq.write_table(table, tmp_path / "a.parquet")
    orc.write_table(table.drop_columns(["t"]), tmp_path / "a.orc")
    kind = {"type": "long", "logicalType": "timestamp-micros"}
    fields = [{"name": "n", "type": "long"}, {"name": "t", "type": ["null", kind]}]
    schema = {"type": "record", "name": "r", "fields": fields}
    with (tmp_path / "a.avro").open("wb") as stream:
        fastavro.writer(stream, schema, rows)

    assert read(tmp_path / "a.parquet") == rows
    assert read(tmp_path / "a.avro") == rows
    assert read(tmp_path / "a.orc") == [{"n": 1}, {"n": 2}]
    (tmp_path / "a.parquet").rename(tmp_path / "unnamed")
    assert read(tmp_path / "unnamed") == rows
    with pytest.raises(StageError, match="cannot be read as parquet"):
        read(tmp_path / "b.parquet", b"PAR1 and nothing")


def test_sheets(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append([None, None])
    book.active.append(["Order no", "when"])
    book.active.append([5.0, datetime.datetime(2024, 1, 2)])
    book.active.append([1.5, None])
    book.create_sheet("two").append(["x", 1])
    book.save(tmp_path / "a.xlsx")
    found = read(tmp_path / "a.xlsx")
    assert [list(each) for each in found] == [["Order_no", "when"]] * 2
    assert found[0]["Order_no"] == 5
    assert str(found[0]["when"]).startswith("2024-01-02")
    assert found[1] == {"Order_no": 1.5, "when": None}
    assert read(tmp_path / "a.xlsx", sheet="TWO", header=False) == [{"A": "x", "B": 1}]
    with pytest.raises(StageError, match="its sheets are: Sheet, two"):
        read(tmp_path / "a.xlsx", sheet="three")


def test_a_title_of_a_sheet_may_take_several_columns(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["Sales"])
    book.active.append(["Region", 2023, 2024, None])
    book.active.append(["North", 1, 2, "x"])
    book.save(tmp_path / "a.xlsx")
    assert list(read(tmp_path / "a.xlsx")[0]) == ["Sales", "BLANK", "BLANK_2", "BLANK_3"]
    book.active.merge_cells("A1:D1")
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx") == [
        {"Region": "North", "col_2023": 1, "col_2024": 2, "BLANK": "x"}
    ]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"format": "xml"}, "The format 'xml' is unknown."),
        ({"encoding": "klingon"}, "The encoding 'klingon' is unknown."),
        ({"delimiter": "ab"}, "The delimiter 'ab' is not one character"),
        ({"delimiter": '"'}, "is not one character that is neither a quote"),
    ],
)
def test_wrong_wishes_are_refused(tmp_path: Path, how: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequestError, match=message):
        read(tmp_path / "a.csv", "a\n", **how)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match="does not exist"):
        read(tmp_path / "a.csv")
    with pytest.raises(BadRequestError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(BadRequestError, match="cannot be read"):
        read(tmp_path / "a.csv.gz", b"no gzip")
    assert read(tmp_path / "empty.csv", b"") == []


@given(st.binary(max_size=400), st.sampled_from(["csv", "json", "text", "document", "blob", None]))
def test_any_bytes_are_rows_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, format: str | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage"
    with contextlib.suppress(StageError, BadRequestError):
        read(path, content, format=format)
