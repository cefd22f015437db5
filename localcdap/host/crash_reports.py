"""Crash reports: one file per internal error of localcdap."""

from __future__ import annotations

import os
import platform
import time
import traceback
from pathlib import Path


def format_report(error: BaseException, what: str) -> str:
    """Return the text of a report.

    :param what: what localcdap was doing.
    """
    return "\n".join(
        (
            what,
            f"{time.strftime('%Y-%m-%d %H:%M:%S')} python {platform.python_version()} {platform.platform()}",
            "",
            "".join(traceback.format_exception(error)),
        )
    )


def write_report(folder: Path, text: str) -> Path:
    """Write a report into an instance's folder of reports, and return its file.

    :raises OSError: when the file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    file = folder / f"{started}.txt"
    count = 1
    while file.exists():
        count += 1
        file = folder / f"{started}-{count}.txt"
    file.write_text(text, encoding="utf-8")
    return file
