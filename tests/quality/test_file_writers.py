"""Whatever localcdap replaces goes through the atomic writer, which keeps the mode and the link of a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.quality.source_tree import list_sources, name_of

WRITERS = ("replace_file", "FileReplacement")
"""What gives the new file that may be written as one likes."""
OTHERS = {
    "localcdap/api/dataset/classes/file_sets.py:open_output": "authors get a stream",
    "localcdap/artifacts/directories/content_cache.py:_copy": "a new folder, renamed when complete",
    "localcdap/authoring/artifact.py:write_artifact": "a new folder, renamed when complete",
    "localcdap/cli/data/prep.py:find_file": "a folder for this command alone",
    "localcdap/datasets/modules.py:_copy": "a new folder, renamed when complete",
    "localcdap/datasets/modules.py:_replace_file": "a copy to go back to",
    "localcdap/datasets/storage.py:copy_rows": "a new file of a transaction",
    "localcdap/engine/fork_server.py:write_exit_code": "a new file of a run",
    "localcdap/engine/local/supervisor.py:_start_server": "the log of a new server",
    "localcdap/engine/local/worker_slots.py:register_daemon": "the process id of a new daemon",
    "localcdap/engine/warm_up.py:_write_records": "a folder that is removed",
    "localcdap/files/result_files.py:_write_csv": "fills the new file of write_result",
    "localcdap/files/result_files.py:_write_json": "fills the new file of write_result",
    "localcdap/host/crash_reports.py:write_report": "a new file",
    "localcdap/host/demo.py:install_demo": "a file that was not there",
    "localcdap/processes/single_instance.py:send": "a pipe",
    "localcdap/runs/startup/processes.py:_start_process": "a pipe",
    "localcdap/sandbox/admin_rows.py:take_changes": "a new file of a worker",
    "localcdap/server/rest/process.py:_create_token": "a file that was not there, for one user alone",
    "localcdap/server/rest/routes/artifact_uploads.py:_keep": "a copy to go back to",
    "localcdap/store/backup.py:restore_database": "a new file beside the database",
    "localcdap/store/commit_log.py:_clone": "a new file beside the database",
    "localcdap/store/repair.py:_link": "a copy of the database",
    "localcdap/store/repair.py:_save_with_new_header": "a copy of the database",
    "localcdap/testing/formats.py:_open": "a folder that is removed",
    "localcdap/testing/instance.py:copy_known_instance": "the folder of a test",
    "localcdap/testing/instance.py:drop": "the folder of a test",
    "localcdap/testing/instance.py:put_new_database": "the folder of a test",
    "localcdap/tui/machine.py:edit_text": "a folder that is removed",
    "plugins_dir/analytics/analytics/model_trainer.py:write_mlflow_folder": "a new folder of a model",
    "plugins_dir/core-plugins/core_plugins/files/ftp_source.py:fetch": "a folder for this run alone",
}
"""What writes files otherwise, and why."""
CALLS = re.compile(rb"write_(?:text|bytes)\(|open\(|shutil\.copy")
_NAMES = ("copy", "copy2", "copyfile", "open", "fdopen", "write_text", "write_bytes")
_COPIES = ("copy", "copy2", "copyfile")


def test_files_are_replaced_by_the_atomic_writer():
    found = {
        f"{name_of(path)}:{function}": line
        for path in list_sources("localcdap", "plugins_dir")
        if name_of(path) != "localcdap/files/atomic.py"
        if CALLS.search(source := path.read_bytes())
        for function, line in find_writes(ast.parse(source))
    }

    assert sorted(found.keys() - OTHERS.keys()) == []
    assert sorted(OTHERS.keys() - found.keys()) == []


def find_writes(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the function and the line of each call that writes a file by its path."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            new_files = set(find_new_files(function))
            for call in walk_body(function):
                if isinstance(call, ast.Call) and is_write(call, new_files):
                    yield function.name, call.lineno


def walk_body(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of the functions in it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child
            yield from walk_body(child)


def find_new_files(function: ast.AST) -> Iterator[str]:
    """Yield the names that a block binds to what the writer gives."""
    for node in walk_body(function):
        if isinstance(node, ast.withitem) and isinstance(node.context_expr, ast.Call):
            called = ast.unparse(node.context_expr.func)
            if called.rpartition(".")[2] in WRITERS and node.optional_vars is not None:
                yield ast.unparse(node.optional_vars)


def is_write(call: ast.Call, new_files: set[str]) -> bool:
    if (getattr(call.func, "attr", None) or getattr(call.func, "id", None)) not in _NAMES:
        return False
    called, arguments = ast.unparse(call.func), [ast.unparse(each) for each in call.args]
    owner, _, name = called.rpartition(".")
    if owner == "shutil" and name in _COPIES:
        return not is_new_file(arguments[1], new_files)
    modes = [*arguments, *(ast.unparse(each.value) for each in call.keywords if each.arg == "mode")]
    is_open = name in ("open", "fdopen") and any(
        mode[:1] in "'\"" and set(mode) & set("wx") and len(mode) <= 5 for mode in modes
    )
    is_text = owner and name in ("write_text", "write_bytes")
    return bool(is_open or is_text) and not is_new_file(owner or arguments[0], new_files)


def is_new_file(expression: str, new_files: set[str]) -> bool:
    return expression.split(".")[0] in new_files or expression.endswith(".new_file")


def test_what_is_a_write():
    source = """
def write(path, other):
    path.write_text("x")
def copy(path, other):
    with replace_file(path) as made:
        made.write_bytes(b"")
        shutil.copyfile(other, made)
    shutil.copy2(other, path)
def stream(self):
    self._replacement.new_file.open("wb")
    with open(self, "w") as file, path.open(mode="xb"):
        file.write("")
    path.open("ab"), path.open("r"), path.open(encoding="utf-8")
"""
    assert list(find_writes(ast.parse(source))) == [
        ("write", 3),
        ("copy", 8),
        ("stream", 11),
        ("stream", 11),
    ]
