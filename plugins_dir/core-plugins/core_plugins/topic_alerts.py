"""The TMS alert publisher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from localcdap.api import (
    Alert,
    AlertContext,
    AlertPublisher,
    PluginConfig,
    StageConfigurer,
    field,
    plugin,
)
from localcdap.api.control import limit_rate

_LEAST: Final = 1


@plugin(name="TMS", description="Publishes alerts as messages on a topic of this instance.")
class TopicAlerts(AlertPublisher):
    """Properties, defaults and failures are those of CDAP's plugin (hydrator-plugins,
    ``io/cdap/plugin/alert/TMSAlertPublisher.java``).

    Unlike there, the topic is looked for in the namespace that the property names, not in that of the run.
    """

    class Config(PluginConfig):
        topic: str = field("The topic to publish messages on.", macro=True)
        namespace: str | None = field(
            "The namespace of the topic; by default that of the pipeline.", default=None, macro=True
        )
        auto_create: bool = field(
            "Whether to create the topic in the pipeline's namespace if it does not exist. Cannot be set "
            "together with a namespace.",
            default=False,
            name="autoCreateTopic",
        )
        rate: int = field(
            "The most alerts to publish per second.", default=100, name="maxAlertsPerSecond"
        )

    config: Config

    def configure(self, stage: StageConfigurer) -> None:
        config = self.config
        if config.auto_create and config.namespace:
            stage.failures.add(
                "Cannot auto-create topic when namespace is set.",
                "Namespace must not be set to auto-create topic.",
            ).with_config_property("namespace").with_config_property("autoCreateTopic")
        if config.rate < _LEAST:
            stage.failures.add(
                f"Invalid maxAlertsPerSecond {config.rate}. Must be at least {_LEAST}."
            ).with_config_property("maxAlertsPerSecond")

    def initialize(self, context: AlertContext) -> None:
        super().initialize(context)
        config = self.config
        if not config.auto_create or context.has_topic(config.topic, config.namespace):
            return
        context.create_topic(config.topic)

    def publish(self, alerts: Iterator[Alert]) -> None:
        config = self.config
        for alert in limit_rate(alerts, config.rate, self.context.logger):
            self.context.publish_messages(config.topic, [alert], config.namespace)
