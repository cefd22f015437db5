"""What the plugins of Kafka have in common: names of topics, properties of clients, Kerberos."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from localcdap.api import StageConfigurer, StageError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

_LONGEST: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")
CLOSING_S: Final = 30.0
"""Seconds to wait until the broker has acknowledged what is under way."""
_INSTALL: Final = "Install it with: pip install 'localcdap[kafka]'."
_OF_JAVA_ONLY: Final = frozenset(
    {
        *("producer.type", "key.serializer", "value.serializer"),
        *("key.deserializer", "value.deserializer", "max.poll.records"),
    }
)
"""Properties of the Java client that the C client does not know, and does not need."""


def find_name_problem(topic: str) -> str | None:
    """Return what is wrong with the name of a topic, in the words of Kafka
    (``org.apache.kafka.common.internals.Topic.validate``).
    """
    if topic in (".", ".."):
        return 'Topic name cannot be "." or ".."'
    if len(topic) > _LONGEST:
        return f"Topic name is illegal, it can't be longer than {_LONGEST} characters"
    if not _LEGAL.fullmatch(topic):
        return (
            f'Topic name "{topic}" is illegal, it contains a character other than ASCII alphanumerics, '
            "'.', '_' and '-'"
        )
    return None


def check_kerberos(stage: StageConfigurer, principal: str | None, keytab: str | None) -> None:
    """Add a failure when only one of the two is set (kafka-plugins, ``KafkaHelpers.java``)."""
    if bool(principal) != bool(keytab):
        empty = "keytab" if principal else "principal"
        named = "keytabLocation" if principal else "principal"
        stage.failures.add(f"Field {empty} must be specified.").with_config_property(named)


def check_brokers(stage: StageConfigurer, brokers: str, name: str) -> None:
    """Add failures for brokers that are not host:port (kafka-plugins, ``KafkaBatchConfig.java``).

    :param name: of the property.
    """
    found = [each.strip() for each in brokers.split(",") if each.strip()]
    if not found:
        stage.failures.add("Must specify kafka brokers.").with_config_property(name)
    for each in found:
        host, _, port = each.rpartition(":")
        if not host or not port.isdecimal():
            stage.failures.add(
                f"Invalid port '{port}' for host '{host}'.", "Write host:port."
            ).with_config_property(name, element=each)


def parse_properties(text: str | None) -> dict[str, str]:
    """Return the properties of a client, ``key:value`` separated by commas."""
    pairs = (each.partition(":") for each in (text or "").split(",") if each.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


def build_client_properties(
    brokers: str, given: dict[str, str], principal: str | None, keytab: str | None
) -> dict[str, Any]:
    """Return the configuration of a client of librdkafka."""
    known = {key: value for key, value in given.items() if key not in _OF_JAVA_ONLY}
    kerberos: dict[str, Any] = {}
    if principal and keytab:
        kerberos = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "GSSAPI",
            "sasl.kerberos.principal": principal,
            "sasl.kerberos.keytab": keytab,
        }
    return {"bootstrap.servers": brokers} | kerberos | known


def create_producer(properties: dict[str, Any]) -> Producer:
    """Create a producer.

    :raises StageError: when the library is missing, or a property is wrong.
    """
    try:
        from confluent_kafka import KafkaException, Producer
    except ImportError:
        raise StageError("The library confluent-kafka is missing.", _INSTALL) from None
    try:
        return Producer(properties)
    except (KafkaException, ValueError, TypeError) as error:
        raise StageError(
            f"The properties of the producer are wrong: {describe_error(error)}",
            "See the properties of librdkafka.",
        ) from None


def describe_error(error: Exception) -> str:
    """Return the text of an error of the client."""
    first = error.args[0] if error.args else error
    return str(first.str()) if hasattr(first, "str") else str(first)


def create_consumer(properties: dict[str, Any]) -> Consumer:
    """Create a consumer that keeps no offsets at the brokers.

    :raises StageError: when the library is missing, or a property is wrong.
    """
    own = {
        "group.id": "localcdap",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }
    try:
        from confluent_kafka import Consumer, KafkaException
    except ImportError:
        raise StageError("The library confluent-kafka is missing.", _INSTALL) from None
    try:
        return Consumer(own | properties | {"enable.partition.eof": True})
    except (KafkaException, ValueError, TypeError) as error:
        raise StageError(
            f"The properties of the consumer are wrong: {describe_error(error)}",
            "See the properties of librdkafka.",
        ) from None
