"""SFTPCopy, SFTPPut, SFTPDelete and SSH, with a server on this machine."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest
from core_plugins.actions import Ssh
from sftp_actions.actions import SftpCopy, SftpDelete, SftpPut

from localcdap.api import Action
from localcdap.api.errors import StageError
from localcdap.testing import StageTester
from tests.plugins.ssh.server import PASSWORD, USER, RunningServer, run_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with run_server(tmp_path_factory.mktemp("served")) as running:
        yield running


def act(
    action: type[Action], server: RunningServer, folder: Path | None, **properties: str
) -> dict[str, str]:
    """The arguments that the action sets."""
    common = {"host": "127.0.0.1", "port": str(server.port), "userName": USER}
    account = common | {"password": PASSWORD} | properties
    return StageTester(action, account, directory=folder).act().arguments


def test_a_folder_is_copied_with_its_subfolders(server: RunningServer, tmp_path: Path):
    source = server.folder / "in"
    (source / "sub").mkdir(parents=True)
    (source / "a.csv").write_bytes(b"\x00" * 100_000)
    (source / "sub" / "b.csv").write_text("b")
    with zipfile.ZipFile(source / "c.zip", "w") as archive:
        archive.writestr("deep/d.txt", "d")
    common = {"srcDirectory": "/in", "destDirectory": "out"}

    arguments = act(SftpCopy, server, tmp_path, **common)

    assert arguments == {"sftp.copied.file.names": "/in/a.csv,/in/c.zip,/in/sub/b.csv"}
    out = tmp_path / "out"
    assert (out / "a.csv").stat().st_size == 100_000
    assert (out / "sub" / "b.csv").read_text() == "b"
    assert (out / "c.zip" / "deep" / "d.txt").read_text() == "d"
    named = {"destDirectory": "some", "fileNameRegex": r".*\.zip", "extractZipFiles": "false"}
    again = act(SftpCopy, server, tmp_path, **(common | named), variableNameHoldingFileList="names")
    assert again == {"names": "/in/c.zip"}
    assert [each.name for each in (tmp_path / "some").iterdir()] == ["c.zip"]
    assert zipfile.is_zipfile(tmp_path / "some" / "c.zip")


def test_an_archive_that_leaves_its_folder_or_is_none_is_refused(
    server: RunningServer, tmp_path: Path
):
    (server.folder / "bad").mkdir()
    with zipfile.ZipFile(server.folder / "bad" / "a.zip", "w") as archive:
        archive.writestr("../../escaped", "x")
    common = {"srcDirectory": "/bad", "destDirectory": "out"}
    with pytest.raises(StageError, match="would be outside of its folder"):
        act(SftpCopy, server, tmp_path, **common)
    assert [each.name for each in tmp_path.rglob("*")] == ["out"]
    (server.folder / "bad" / "a.zip").write_text("no archive")
    with pytest.raises(StageError, match="'a.zip' is not a ZIP archive"):
        act(SftpCopy, server, tmp_path, **common)
    with pytest.raises(StageError, match="answers: No such file"):
        act(SftpCopy, server, tmp_path, srcDirectory="/gone", destDirectory="out")


def test_files_are_put_and_deleted(server: RunningServer, tmp_path: Path):
    (tmp_path / "send").mkdir()
    for name in ("a.txt", "b.txt", "c.csv"):
        (tmp_path / "send" / name).write_text(name)
    act(
        SftpPut,
        server,
        tmp_path,
        srcPath="send",
        destDirectory="/inbox",
        fileNameRegex=r".*\.txt",
        Authentication="privatekey-select",
        privateKey=server.key,
        password="",
    )
    inbox = server.folder / "inbox"
    assert sorted(each.name for each in inbox.iterdir()) == ["a.txt", "b.txt"]
    with pytest.raises(StageError, match="Source Path doesn't exist at"):
        act(SftpPut, server, tmp_path, srcPath="gone", destDirectory="/inbox")

    files = "/inbox/none,/inbox/a.txt"
    with pytest.raises(StageError, match="'/inbox/none' cannot be deleted"):
        act(SftpDelete, server, None, filesToDelete=files)
    assert (inbox / "a.txt").exists()
    act(SftpDelete, server, None, filesToDelete=files, continueOnError="true")
    assert [each.name for each in inbox.iterdir()] == ["b.txt"]


def run_command(server: RunningServer, **properties: str) -> dict[str, str]:
    common = {
        "command": "say hello there",
        "host": "127.0.0.1",
        "port": str(server.port),
        "user": USER,
        "privateKey": server.key,
    }
    return StageTester(Ssh, common | properties).act().arguments


def test_the_output_of_a_command_is_an_argument(server: RunningServer):
    assert run_command(server) == {"sshOutput": "hello there"}
    assert run_command(server, outputKey="said") == {"said": "hello there"}
    with pytest.raises(StageError, match="command fly .* finished with exit code: 3") as error:
        run_command(server, command="fly")
    assert error.value.corrective_action == "no command fly"


def test_a_login_that_is_refused_says_so(server: RunningServer, tmp_path: Path):
    common = {"srcDirectory": "/in", "destDirectory": "out"}
    with pytest.raises(StageError, match=f"{USER}@127.0.0.1:{server.port} refuses the login"):
        act(SftpCopy, server, tmp_path, **common, password="wrong")
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    with pytest.raises(StageError, match="refuses the login"):
        run_command(server, privateKey=other)
    with pytest.raises(StageError, match="The private key cannot be used"):
        run_command(server, privateKey="garbage")
    with pytest.raises(StageError, match="refuses the login"):
        act(SftpCopy, server, tmp_path, **common, sshProperties="StrictHostKeyChecking:yes")
    with pytest.raises(StageError, match="cannot be reached"):
        run_command(server, port="9")


def test_wrong_properties():
    common = {"host": "h", "userName": "u", "srcDirectory": "/", "destDirectory": "d"}
    *problems, regex = StageTester(SftpCopy, common | {"port": "0", "fileNameRegex": "["}).problems
    assert problems == [
        "port: There is no port 0.",
        "password: 'password-select' needs 'password'.",
    ]
    assert regex.startswith("fileNameRegex: Invalid regular expression: '[' is not")
    by_key = common | {"Authentication": "privatekey-select", "privateKey": "${secure(key)}"}
    assert StageTester(SftpCopy, by_key).problems == []
    ssh = {"command": "c", "host": "h", "user": "u", "privateKey": "k", "port": "-1"}
    assert StageTester(Ssh, ssh).problems == ["port: Port must be a positive number."]
