"""What a command says when something fails that no command expects."""

from __future__ import annotations

import errno
import os

import pytest

from localcdap.cli.errors import BAD_INPUT, FAULT, report


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (errno.ENOSPC, BAD_INPUT, "The disk of / is full (No space left on device)"),
        (errno.EIO, FAULT, "Internal error of localcdap: "),
    ],
)
def test_a_full_disk_is_no_fault_of_localcdap(capsys, tmp_path, number, code, said):
    error = OSError(number, os.strerror(number), "/x")

    assert report(error, ["runs", "--home", str(tmp_path)]) == code
    assert said in capsys.readouterr().err
    assert (tmp_path / "reports").exists() == (code == FAULT)
