"""The properties of clients of Kafka in sources and sinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localcdap.api import PluginConfig, SinkContext, SourceContext, StageConfigurer, field

from .topics import build_client_properties, check_brokers, check_kerberos, parse_properties


class KafkaClientConfig(PluginConfig, rename="camel"):
    """Connection, further properties and Kerberos. A subclass declares the brokers."""

    use_connection: bool = field(
        "Whether a connection of the instance supplies the brokers.", default=False, group="more"
    )
    connection: str | None = field(
        "The connection, as ${conn(name)}.", default=None, macro=True, group="more"
    )
    kafka_properties: str | None = field(
        "More properties of the client, as key:value, comma-separated.",
        default=None,
        macro=True,
        form="{property}:{value},",
        group="more",
    )
    principal: str | None = field(
        "The Kerberos principal, when Kerberos protects Kafka.",
        default=None,
        macro=True,
        group="account",
    )
    keytab_location: str | None = field(
        "The file with the keys of the principal.",
        default=None,
        macro=True,
        form="{path}",
        group="account",
    )

    def find_brokers(self) -> tuple[str, str | None]:
        """Return the name of the property with the brokers, and its value; None when it has none."""
        raise NotImplementedError

    def check_client(self, stage: StageConfigurer) -> None:
        """Add failures for the brokers and Kerberos."""
        name, brokers = self.find_brokers()
        if brokers and not self.contains_macro(name):
            check_brokers(stage, brokers, name)
        check_kerberos(stage, self.principal, self.keytab_location)

    def build_client(
        self, context: SourceContext | SinkContext, defaults: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the configuration of a client of librdkafka; the user's properties go before defaults."""
        keytab = context.resolve_path(self.keytab_location) if self.keytab_location else None
        given = dict(defaults) | parse_properties(self.kafka_properties)
        brokers = self.find_brokers()[1] or ""
        return build_client_properties(brokers, given, self.principal, keytab)
