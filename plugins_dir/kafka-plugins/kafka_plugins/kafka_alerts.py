"""The KafkaAlerts alert publisher."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kafka_plugins.batch_sink import Deliveries
from kafka_plugins.topics import (
    build_client_properties,
    check_kerberos,
    create_producer,
    find_name_problem,
    parse_properties,
)
from localcdap.api import (
    Alert,
    AlertContext,
    AlertPublisher,
    PluginConfig,
    StageConfigurer,
    StageError,
    field,
    plugin,
)


@plugin(name="KafkaAlerts", description="Publishes alerts on a topic of Kafka, each as JSON.")
class KafkaAlerts(AlertPublisher):
    """Properties and failures are those of CDAP's plugin (kafka-plugins,
    ``io/cdap/plugin/kafka/alertpublisher/KafkaAlertPublisher.java``).

    The messages have no key. The client is librdkafka's, most of whose properties have the names of Java's.
    """

    class Config(PluginConfig):
        brokers: str = field(
            "The addresses of one or more brokers, as host:port, comma-separated.", macro=True
        )
        topic: str = field("The topic, which should exist already.", macro=True)
        properties: str | None = field(
            "More properties of the producer, as key:value, comma-separated.",
            default=None,
            name="producerProperties",
            form="{property}:{value},",
        )
        principal: str | None = field(
            "The Kerberos principal, when Kerberos protects Kafka.", default=None, macro=True
        )
        keytab: str | None = field(
            "The file with the keys of the principal.",
            default=None,
            macro=True,
            name="keytabLocation",
            form="{path}",
        )

    config: Config
    _deliveries: Deliveries | None = None

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.contains_macro("topic") or config.contains_macro("brokers"):
            return
        problem = find_name_problem(config.topic)
        if problem:
            stage.failures.add(
                f"Topic name {config.topic} is not a valid kafka topic. Please provide valid kafka topic "
                f"name. {problem}"
            ).with_config_property("topic")
        check_kerberos(stage, config.principal, config.keytab)

    def initialize(self, context: AlertContext) -> None:
        super().initialize(context)
        config = self.config
        given = {"client.id": context.stage_name} | parse_properties(config.properties)
        keytab = context.resolve_path(config.keytab) if config.keytab else None
        client = build_client_properties(config.brokers, given, config.principal, keytab)
        self._deliveries = Deliveries(create_producer(client), config.topic)

    def publish(self, alerts: Iterator[Alert]) -> None:
        assert self._deliveries is not None  # initialize created it
        try:
            for alert in alerts:
                self._deliveries.produce(msgspec.json.encode(alert))
            self._deliveries.close("alerts")
        except StageError as error:
            raise self.context.fail(error.message, error.corrective_action) from None

    def destroy(self) -> None:
        if self._deliveries is not None:
            self._deliveries.drop()
