"""A full disk fails the run; what was there stays, and nothing half-written is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcdap.cli.main import run
from tests.conftest import REPOSITORY
from tests.e2e.pipelines import csv_source, json_sink, pipeline, python, schema, write
from tests.e2e.program import Program
from tests.small_disks import fill_disk, mount_small_disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; skips where this user may not mount one."""
    with mount_small_disk(tmp_path / "disk", 256) as folder:
        yield folder


@pytest.mark.spark
def test_a_full_disk_fails_the_run(program: Program, tmp_path: Path, small_disk: Path):
    source = tmp_path / "in.csv"
    source.write_text("".join(f"{n}\n" for n in range(2000)))
    row, wide = schema(id="int"), schema(id="int", text="string")
    script = (
        "import hashlib\n"
        "def transform(record, emitter, context):\n"
        "    text = ''.join(hashlib.sha256(b'%d %d' % (record['id'], n)).hexdigest() for n in range(20))\n"
        "    emitter.emit({'id': record['id'], 'text': text})\n"
    )
    document = pipeline(
        [
            csv_source("In", source, row),
            python("Widen", script, wide),
            json_sink("Small", small_disk / "out"),
            json_sink("Roomy", tmp_path / "roomy"),
        ],
        ("In", "Widen"),
        ("Widen", "Small"),
        ("Widen", "Roomy"),
    )

    answer = program("run", write(document, tmp_path / "p.json"), "--json")

    assert answer.code == 1
    assert answer.json["status"] == "FAILED"
    assert answer.json["error"]["stage"] == "Small"
    assert "the disk is full" in answer.json["error"]["message"]
    assert list(small_disk.iterdir()) == []
    assert not (tmp_path / "roomy").exists()


def test_on_a_full_disk_commands_read_and_say_why_they_do_not_write(
    tmp_path: Path, fresh_home: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
):
    pipeline_file = REPOSITORY / "data" / "demo" / "pipeline.json"

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run([*arguments, "--home", str(home)])
        reported = capsys.readouterr()
        return code, reported.out, reported.err

    with mount_small_disk(tmp_path / "disk", 32 * 1024) as disk:
        home = fresh_home(disk / "home")
        assert call("import", str(pipeline_file), "--name", "stored")[0] == 0
        assert call("preferences", "set", "colour=blue")[0] == 0
        filler = fill_disk(disk)
        before = sorted(path for path in disk.rglob("*"))

        for arguments, shown in READS:
            code, out, err = call(*arguments)
            assert (code, "Error" in err) == (0, False), arguments
            assert shown in out
        for arguments in (*WRITES, ("import", str(pipeline_file), "--name", "another")):
            code, out, err = call(*arguments)
            assert (code, out) == (2, ""), arguments
            assert err.startswith(f"Error: The disk of {home} is full (No space"), arguments
        assert "MB are needed" in call("backup")[2]
        assert sorted(path for path in disk.rglob("*")) == before

        filler.unlink()
        assert call(*WRITES[0])[0] == 0
        assert "green" in call("preferences")[1]


READS = [
    (("runs",), ""),
    (("pipelines",), "stored"),
    (("export", "stored"), "Purchases"),
    (("plugins",), "Wrangler"),
    (("preferences",), "blue"),
    (("tables",), ""),
    (("sql", "SELECT 41 + 1 AS answer"), "42"),
    (("validate", str(REPOSITORY / "data" / "demo" / "pipeline.json")), "valid"),
]
WRITES = [
    # More than what is left of the last block of the write-ahead log.
    ("preferences", "set", f"colour={'green' * 10_000}"),
    ("namespaces", "create", "more", "--description", "d" * 50_000),
    ("backup",),
]
