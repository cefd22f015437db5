"""Completion of commands, options and names by a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from localcdap.cli.main import COMPLETION
from tests.e2e.pipelines import csv_source, json_sink, pipeline, schema, write
from tests.e2e.program import Command, Program

# What click's script does: ask the program, and make an array of the answer.
_BASH = """
eval "$({python} -m localcdap.cli completion bash)"
localcdap() {{ {python} -m localcdap.cli "$@"; }}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_localcdap_completion {program}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def complete(command: Command, program: Program, tmp_path: Path, monkeypatch, capsys):
    """Returns the completions of the last word, after a pipeline was deployed."""
    stages = [
        csv_source("In", tmp_path / "${dir}", schema(id="int")),
        json_sink("Out file", tmp_path / "out"),
    ]
    file = write(pipeline(stages, ("In", "Out file")), tmp_path / "orders.json")
    assert command("import", file, "--name", "orders")[0] == 0
    assert command("connections", "put", "shared", "--type", "File")[0] == 0
    monkeypatch.setenv("LOCALCDAP_HOME", str(program.home))
    monkeypatch.setenv(COMPLETION, "bash_complete")

    def complete(*words: str) -> list[str]:
        capsys.readouterr()
        monkeypatch.setenv("COMP_WORDS", " ".join(("localcdap", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit):
            command()
        return [line for line in capsys.readouterr().out.split("\n") if line]

    return complete


def test_names_of_an_instance_are_completed(complete):
    assert complete("va") == ["plain,validate"]
    assert complete("runs", "--l") == ["plain,--limit"]
    assert complete("validate", "or") == ["plain,orders"]
    assert complete("validate", "da") == ["file,da"]
    assert complete("import", "x") == ["file,x"]
    assert complete("debug", "orders", "O") == ["plain,Out\\ file"]
    assert complete("run", "orders", "-a", "d") == ["plain,dir="]
    assert complete("run", "orders", "--profile", "n") == ["plain,native"]
    assert complete("diff", "orders", "orders@") == ["file,orders@"]
    assert complete("runs", "--namespace", "") == ["plain,default"]
    assert complete("plugin", "batchsink", "Tr") == ["plain,Trash"]
    assert complete("logs", "") == []


def test_an_instance_without_a_database_is_not_made(complete, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("LOCALCDAP_HOME", str(tmp_path / "nothing"))

    assert complete("logs", "") == []
    assert not (tmp_path / "nothing").exists()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on this machine")
def test_bash_completes_with_the_script(tmp_path: Path):
    program = tmp_path / "localcdap"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m localcdap.cli "$@"\n')
    program.chmod(0o755)
    script = _BASH.format(python=sys.executable, words="localcdap templ", program=program)

    answered = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"LOCALCDAP_HOME": str(tmp_path)},
    )

    assert answered.stdout == "templates\n", answered.stderr


def test_data_to_prepare_are_completed(complete):
    assert complete("prep", "sh") == ["plain,shared:/"]
    assert complete("prep", "open", "sh") == ["plain,shared:/"]
    assert complete("prep", "app") == ["plain,apply", "file,app"]
    assert complete("prep", "apply", "x") == ["file,x"]
