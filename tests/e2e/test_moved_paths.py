"""A plugin that imports an old path of localcdap: what its author sees."""

from __future__ import annotations

from tests.artifacts.authoring import source, write
from tests.e2e.program import Program


def test_artifacts_shows_the_old_paths_that_a_dropped_in_file_uses(program: Program):
    text = "from localcdap.api.lookup import TableShape\n" + source("Old")
    file = write(program.home / "plugins" / "old-1.0.0.py", text)

    listed = program("artifacts")
    assert listed.code == 0, listed.err
    warning = (
        "old-1.0.0.py:1 uses localcdap.api.lookup, which has moved to localcdap.api.tables; change it, "
        "because the next version of localcdap does not have the old path."
    )
    assert listed.out.endswith(f"\n\n{file}\n{warning}\n")

    (old,) = [each for each in program("artifacts", "--json").json if each["name"] == "old"]
    assert (old["error"], old["warnings"]) == (None, [warning])
    assert program("plugin", "transform", "Old").code == 0
    assert program("artifacts", "--errors", "--json").json == []
