"""The Email post action, with a mail server on this machine."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import Any

import pytest
from core_plugins.actions import Email

from localcdap.api.errors import StageError
from localcdap.testing import StageTester
from tests.plugins.transform.support import configure, messages

MAIL = {
    "sender": "me@here.org",
    "recipients": "a@there.org, b@there.org",
    "subject": "Fertig: größer",
    "message": "Done.\n.\nReally.",
}


class MailServer(socketserver.StreamRequestHandler):
    """Takes every mail but those to ``nobody``."""

    taken: list[tuple[list[str], bytes]]

    def handle(self) -> None:
        self.say("220 here")
        recipients: list[str] = []
        while line := self.rfile.readline().decode().strip():
            command = line[:4].upper()
            if command == "RCPT":
                recipients.append(line)
                self.say("550 unknown" if "nobody" in line else "250 good")
            elif command == "DATA":
                self.say("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                content = b"".join(each.removeprefix(b".") for each in lines)
                type(self).taken.append((recipients, content))
                self.say("250 good")
            elif command == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 good")

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def port() -> Iterator[int]:
    MailServer.taken = []
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def send(port: int, *, succeeded: bool = True, **more: Any) -> None:
    place = {"host": "127.0.0.1", "port": str(port)}
    StageTester(Email, MAIL | place | more).act(succeeded=succeeded)


def test_a_mail_is_sent_when_its_condition_holds(port: int):
    send(port, succeeded=True, runCondition="failure")
    assert MailServer.taken == []

    send(port, succeeded=False, runCondition="failure")

    ((recipients, content),) = MailServer.taken
    assert [each.partition(":")[2] for each in recipients] == ["<a@there.org>", "<b@there.org>"]
    mail = message_from_bytes(content, policy=policy.default)
    assert (mail["From"], mail["Subject"]) == ("me@here.org", "Fertig: größer")
    assert mail.get_content().splitlines() == ["Done.", ".", "Really."]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"recipients": "nobody@there.org"}, "cannot be sent by .*unknown"),
        ({"subject": "a\nBcc: x@y.org"}, "cannot be sent"),
        ({"protocol": "TLS"}, "STARTTLS"),
        ({"username": "u", "password": "p"}, "AUTH"),
    ],
)
def test_what_the_server_refuses_is_reported(port: int, more: dict[str, str], expected: str):
    with pytest.raises(StageError, match=expected):
        send(port, **more)
    assert MailServer.taken == []


def test_a_server_that_is_not_there_is_reported(port: int):
    with pytest.raises(StageError, match="127.0.0.1:1: .*refused"):
        send(1)


def test_what_is_wrong_is_said():
    wrong = {"username": "u", "port": "0", "includeWorkflowToken": "true"}
    assert messages(configure(Email, MAIL | wrong)) == [
        "You must either set both username and password or neither username nor password.",
        "0 is not a port.",
        "Workflow tokens do not exist here.",
    ]
    assert messages(configure(Email, MAIL)) == []
    java = configure(Email, MAIL | {"configurableJavaMailProperties": "mail.smtp.localhost:x"})
    assert [each.field for each in java.warnings] == ["configurableJavaMailProperties"]
