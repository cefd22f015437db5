"""Editing a text in the user's editor, which gets the terminal meanwhile."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from localcdap.api.errors import BadRequestError, NotFoundError


def find_editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command of the user's editor.

    :raises NotFoundError: when $VISUAL and $EDITOR are empty and no usual editor is installed.
    """
    for name in ("VISUAL", "EDITOR"):
        if environment.get(name, "").strip():
            return shlex.split(environment[name])
    for usual in ("sensible-editor", "nano", "vim", "vi"):
        if shutil.which(usual):
            return [usual]
    raise NotFoundError(
        "There is no editor here.", "Name one in $EDITOR and open the studio again."
    )


def edit_text(text: str, suffix: str = ".txt") -> str | None:
    """Return the edited text, without a line end that the editor added; None when unchanged.

    The editor has the terminal until it exits.

    :raises BadRequestError: when the editor cannot be run or fails.
    """
    with tempfile.TemporaryDirectory(prefix="localcdap-edit-") as folder:
        file = Path(folder) / f"text{suffix}"
        file.write_text(text, encoding="utf-8")
        edit_file(file)
        edited = file.read_text(encoding="utf-8", errors="replace")
    if edited.endswith("\n") and not text.endswith("\n"):
        edited = edited[:-1]
    return None if edited == text else edited


def edit_file(file: Path) -> None:
    """Open a file in the editor and wait until it exits.

    :raises BadRequestError: when the editor cannot be run or fails.
    """
    command = [*find_editor_command(), str(file)]
    try:
        done = subprocess.run(command, check=False)
    except OSError as error:
        raise BadRequestError(
            f"The editor '{command[0]}' cannot be run: {error.strerror}.",
            "Name another one in $EDITOR.",
        ) from error
    if done.returncode:
        raise BadRequestError(f"The editor '{command[0]}' left with code {done.returncode}.")
