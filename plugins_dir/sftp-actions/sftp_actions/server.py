"""The properties of actions on an SFTP server."""

from __future__ import annotations

from typing import Final

from localcdap.api import PluginConfig, StageConfigurer, field
from localcdap.java.regex import RegexError, compile_regex
from localcdap.plugin_lib.ssh import SshTarget

_BY_KEY, _BY_PASSWORD = "privatekey-select", "password-select"
_CHECKING: Final = "StrictHostKeyChecking"


class ServerConfig(PluginConfig, macros=True, rename="camel"):
    """An SFTP server (sftp-actions, ``io/cdap/plugin/common/SFTPActionConfig.java``)."""

    host: str = field("Host name of the SFTP server.")
    port: int = field("Port of the server.", default=22)
    user_name: str = field("Name of the user.")
    authentication: str = field(
        f"How the user logs in: '{_BY_PASSWORD}' or '{_BY_KEY}'.",
        default=_BY_PASSWORD,
        choices=(_BY_PASSWORD, _BY_KEY),
        name="Authentication",
        group="account",
    )
    password: str | None = field(
        "Password of the user.", default=None, secret=True, group="account"
    )
    private_key: str | None = field(
        "Private key of the user, in PEM.",
        default=None,
        secret=True,
        syntax="text",
        group="account",
    )
    passphrase: str | None = field(
        "Passphrase of the private key.", default=None, secret=True, group="account"
    )
    ssh_properties: str | None = field(
        f"Properties of SSH, as name:value, comma-separated. '{_CHECKING}:yes' makes it require that the "
        "server is in known_hosts; others have no effect here.",
        default=None,
        name="sshProperties",
        macro=False,
        group="more",
    )

    def check(self, stage: StageConfigurer) -> None:
        """Add failures for what is wrong by itself."""
        if not self.contains_macro("port") and not 0 < self.port < 65_536:
            stage.failures.add(
                f"There is no port {self.port}.", "Use a number from 1 to 65535."
            ).with_config_property("port")
        if self.contains_macro("Authentication"):
            return
        name = "privateKey" if self.authentication == _BY_KEY else "password"
        value = self.private_key if self.authentication == _BY_KEY else self.password
        if not value and not self.contains_macro(name):
            stage.failures.add(
                f"'{self.authentication}' needs '{name}'.", "Set it, or another authentication."
            ).with_config_property(name)

    def build_target(self) -> SshTarget:
        """Return the server and the account."""
        by_key = self.authentication == _BY_KEY
        pairs = (each.partition(":") for each in (self.ssh_properties or "").split(","))
        given = {name.strip(): value.strip().lower() for name, _, value in pairs}
        return SshTarget(
            self.host.strip(),
            self.port,
            self.user_name,
            None if by_key else self.password,
            self.private_key if by_key else None,
            self.passphrase,
            given.get(_CHECKING) in ("yes", "true", "ask"),
        )


def check_regex(stage: StageConfigurer, text: str | None) -> None:
    """Add a failure for a wrong regular expression of file names."""
    try:
        compile_regex(text or "")
    except RegexError as error:
        stage.failures.add(
            f"Invalid regular expression: {error}", "Correct it, in the syntax of Java."
        ).with_config_property("fileNameRegex")
