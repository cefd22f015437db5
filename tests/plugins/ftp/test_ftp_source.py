"""The FTP source, with servers of FTP and SFTP on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from core_plugins.files.ftp_source import FtpSource, RemotePath, list_files, parse_path
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

from localcdap.api.errors import StageError
from localcdap.testing import StageTester, TemporaryInstance
from tests.plugins.core.test_key_values import json_lines, json_sink, run, stage
from tests.plugins.ssh.server import PASSWORD, USER, run_server

ODD_PASSWORD = "p@ss:w/rd"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    logs = folder / "logs"
    (logs / "deep").mkdir(parents=True)
    (logs / "a.txt").write_text("one\ntwo\n")
    (logs / "b.txt").write_text("ünï")
    (logs / "c.csv").write_text("1,2\n")
    (logs / "_hidden").write_text("no")
    (logs / "deep" / "d.txt").write_text("deep")
    return folder


@pytest.fixture(scope="module")
def ftp(folder: Path) -> Iterator[str]:
    """The authority of a server of FTP."""
    authorizer = DummyAuthorizer()
    authorizer.add_user(USER, ODD_PASSWORD, str(folder))
    handler: Any = type("Handler", (FTPHandler,), {"authorizer": authorizer})
    server = FTPServer(("127.0.0.1", 0), handler)
    # Without a timeout, its loop sees that it was closed when the next of its own timers is due: 20 s later.
    thread = threading.Thread(target=server.serve_forever, args=[0.05], daemon=True)
    thread.start()
    host, port = server.socket.getsockname()
    yield f"{host}:{port}"
    server.close_all()
    thread.join(60)


@pytest.fixture(scope="module")
def sftp(folder: Path) -> Iterator[str]:
    """The authority of a server of SFTP."""
    with run_server(folder) as running:
        yield f"127.0.0.1:{running.port}"


def read(instance: TemporaryInstance, name: str, **properties: str) -> Any:
    source = stage("batchsource", "FTP", referenceName="r", **properties)
    return run(instance, source, json_sink(name))


@pytest.mark.slow
@pytest.mark.spark
def test_lines_are_read_from_both_kinds_of_servers(
    cdap_instance: TemporaryInstance, engine: object, ftp: str, sftp: str
):
    home = cdap_instance.home.path
    by_ftp, by_sftp = f"ftp://{USER}:{ODD_PASSWORD}@{ftp}", f"sftp://{USER}:{PASSWORD}@{sftp}"
    assert read(cdap_instance, "one", path=f"{by_ftp}/logs/*.txt").error is None
    assert json_lines(home / "one") == [
        {"offset": 0, "body": "one"},
        {"offset": 0, "body": "ünï"},
        {"offset": 4, "body": "two"},
    ]
    wanted = {"path": f"{by_sftp}/logs", "fileRegex": ".*/[ac].*"}
    assert read(cdap_instance, "two", **wanted).error is None
    assert sorted(row["body"] for row in json_lines(home / "two")) == ["1,2", "one", "two"]

    gone = read(cdap_instance, "three", path=f"{by_ftp}/logs/*.none")
    assert gone.error.stage == "s0-0"
    assert "There are no files at ftp://ada@" in gone.error.message
    assert ODD_PASSWORD not in str(gone.error)
    empty = {"path": f"{by_sftp}/logs/*.none", "ignoreNonExistingFolders": "true"}
    assert read(cdap_instance, "four", **empty).error is None
    refused = read(cdap_instance, "five", path=f"ftp://{USER}:wrong@{ftp}/logs")
    assert "cannot be read: 530" in refused.error.message


def test_files_of_a_path(ftp: str, sftp: str):
    for start in (f"ftp://{USER}:{ODD_PASSWORD}@{ftp}", f"sftp://{USER}:{PASSWORD}@{sftp}"):
        files = ["/logs/a.txt", "/logs/b.txt", "/logs/c.csv"]
        assert list_files(parse_path(f"{start}/logs")) == files
        assert list_files(parse_path(f"{start}/logs/")) == files
        assert list_files(parse_path(f"{start}/logs/a.txt")) == files[:1]
        assert list_files(parse_path(f"{start}/logs/[bc].*")) == files[1:]
        with pytest.raises(FileNotFoundError):
            list_files(parse_path(f"{start}/logs/z.txt"))
    with pytest.raises(StageError, match="refuses the login"):
        list_files(parse_path(f"sftp://{USER}:wrong@{sftp}/logs"))
    with pytest.raises(StageError, match="cannot be read"):
        list_files(parse_path("ftp://u:p@127.0.0.1:9/logs"))


def test_paths_are_parsed():
    assert parse_path("SFTP://u:p%40@h/x") == RemotePath("sftp", "u", "p@", "h", 22, "/x")
    assert parse_path("ftp://u:a@b:c@h:2121/x y") == RemotePath(
        "ftp", "u", "a@b:c", "h", 2121, "/x y"
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("ftp://h/x", "path: Missing authentication in url."),
        ("ftp://u@h/x", "path: Missing authentication in url."),
        ("http://u:p@h/x", "path: The path begins with neither ftp:// nor sftp://."),
        ("ftp://u:p@h:x/y", "path: 'h:x' is not a host with a port."),
    ],
)
def test_wrong_paths(path: str, expected: str):
    assert StageTester(FtpSource, {"referenceName": "r", "path": path}).problems == [expected]


@pytest.mark.slow
def test_other_wrong_properties():
    properties = {"referenceName": "r", "path": "${path}", "fileRegex": "["}
    regex, json = StageTester(FtpSource, properties | {"fileSystemProperties": "{"}).problems
    assert regex.startswith("fileRegex: Invalid regular expression: '[' is not")
    assert json == "fileSystemProperties: File system properties must be a valid json."
