"""The actions Email and SSH: a message about the run, and a command on another machine."""

from __future__ import annotations

import smtplib
import ssl
from email.errors import MessageError
from email.message import EmailMessage
from typing import TYPE_CHECKING, Final

from localcdap.api import (
    Action,
    ActionContext,
    PluginConfig,
    PostAction,
    PostActionConfig,
    PostActionContext,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.plugin_lib.ssh import SshTarget, run_session

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHCompletedProcess


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


_SHOWN: Final = 500
"""The characters of what a command says that are in an error."""


@plugin(name="SSH", description="Runs a command on another machine, and keeps its output.")
class Ssh(Action):
    """Properties and failures are those of CDAP's plugin (hydrator-plugins,
    ``io/cdap/plugin/batch/action/SSHAction.java``).
    """

    class Config(PluginConfig, macros=True, rename="camel"):
        command: str = field("The command, with its arguments.")
        host: str = field("Host name of the machine.")
        port: int = field("Port of its SSH server.", default=22)
        user: str = field("Name of the user.")
        private_key: str = field(
            "Private key of the user, in PEM; best as a secure key: ${secure(key)}.",
            secret=True,
            syntax="text",
        )
        passphrase: str | None = field("Passphrase of the private key.", default=None, secret=True)
        output_key: str = field(
            "The argument that gets the output of the command.", default="sshOutput"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        if not self.config.contains_macro("port") and self.config.port < 0:
            stage.failures.add("Port must be a positive number.").with_config_property("port")

    def run(self, context: ActionContext) -> None:
        config = self.config
        target = SshTarget(
            config.host.strip(),
            config.port,
            config.user,
            private_key=config.private_key,
            passphrase=config.passphrase,
        )

        async def execute(connection: SSHClientConnection) -> SSHCompletedProcess:
            return await connection.run(config.command, errors="replace")

        done = run_session(context, target, execute)
        said = str(done.stderr or "").strip()
        if said:
            context.logger.error("Stderr: %s", said)
        if done.exit_status != 0:
            raise context.fail(
                f"Error: command {config.command} running on hostname {config.host} finished with exit code: "
                f"{done.exit_status if done.exit_status is not None else done.exit_signal}",
                said[-_SHOWN:] or None,
            )
        context.set_argument(config.output_key, str(done.stdout or "").removesuffix("\n"))
