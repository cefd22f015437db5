"""A full disk fails the run; what was there stays, and nothing half-written is left."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.pipelines import csv_source, json_sink, pipeline, python, schema, write
from tests.e2e.program import Program

pytestmark = pytest.mark.spark


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; skips where this user may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


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
