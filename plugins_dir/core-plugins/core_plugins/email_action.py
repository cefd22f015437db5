"""The Email post action."""

from __future__ import annotations

import smtplib
import ssl
from email.errors import MessageError
from email.message import EmailMessage
from typing import Final

from localcdap.api import (
    PostAction,
    PostActionConfig,
    PostActionContext,
    StageConfigurer,
    field,
    plugin,
)

_PLAIN, _SSL, _TLS = "SMTP", "SMTPS", "TLS"
_TIMEOUT_S: Final = 60.0


class EmailConfig(PostActionConfig, macros=True):
    """The properties of the Email post action."""

    recipients: list[str] = field("Addresses of the recipients, comma-separated.")
    sender: str = field("Address of the sender.")
    subject: str = field("Subject of the mail.")
    message: str = field("Text of the mail.", syntax="text")
    user: str | None = field("User name at the mail server.", default=None, name="username")
    password: str | None = field(
        "Password of the user.", default=None, secret=True, name="password"
    )
    protocol: str = field(
        "Protocol: SMTP is not encrypted, SMTPS is encrypted from the start, TLS is encrypted after "
        "STARTTLS.",
        default=_PLAIN,
        choices=[_PLAIN, _SSL, _TLS],
    )
    host: str = field("Host name of the mail server.", default="localhost")
    port: int = field("Port of the mail server.", default=25)
    java_properties: str | None = field(
        "Properties of JavaMail; without effect here.",
        default=None,
        name="configurableJavaMailProperties",
    )
    token: bool = field(
        "Must be false: workflow tokens do not exist here.",
        default=False,
        name="includeWorkflowToken",
        macro=False,
    )


@plugin(name="Email", description="Sends a mail when the run has ended.")
class Email(PostAction):
    Config = EmailConfig
    config: EmailConfig

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        has = {
            name: bool(value) or config.contains_macro(name)
            for name, value in (("username", config.user), ("password", config.password))
        }
        if has["username"] != has["password"]:
            stage.failures.add(
                "You must either set both username and password or neither username nor password.",
                "Set both, or remove one.",
            ).with_config_property("username").with_config_property("password")
        if not config.contains_macro("port") and not 0 < config.port < 65536:
            stage.failures.add(
                f"{config.port} is not a port.", "Use a port from 1 to 65535."
            ).with_config_property("port")
        if config.java_properties:
            stage.warnings.add(
                "Properties of JavaMail have no effect here: the mail is not sent with JavaMail.",
                "Set 'protocol', 'host' and 'port' instead.",
            ).with_config_property("configurableJavaMailProperties")
        if config.token:
            stage.failures.add(
                "Workflow tokens do not exist here.", "Set 'includeWorkflowToken' to false."
            ).with_config_property("includeWorkflowToken")

    def run(self, context: PostActionContext) -> None:
        config = self.config
        try:
            mail = EmailMessage()
            mail["From"], mail["To"] = config.sender, ", ".join(config.recipients)
            mail["Subject"] = config.subject
            mail.set_content(config.message)
            self._send(mail)
        except (OSError, smtplib.SMTPException, MessageError, ValueError) as error:
            raise context.fail(
                f"the mail cannot be sent by {config.host}:{config.port}: {error}.",
                "Check the mail server and the addresses.",
            ) from None

    def _send(self, mail: EmailMessage) -> None:
        config = self.config
        connect = smtplib.SMTP_SSL if config.protocol == _SSL else smtplib.SMTP
        with connect(config.host, config.port, timeout=_TIMEOUT_S) as server:
            if config.protocol == _TLS:
                server.starttls(context=ssl.create_default_context())
            if config.user and config.password:
                server.login(config.user, config.password)
            server.send_message(mail)
