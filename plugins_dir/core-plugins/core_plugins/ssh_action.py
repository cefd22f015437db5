"""The action SSH, which runs a command on another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from localcdap.api import Action, ActionContext, PluginConfig, StageConfigurer, field, plugin
from localcdap.plugin_lib.ssh import SshTarget, run_session

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHCompletedProcess

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
