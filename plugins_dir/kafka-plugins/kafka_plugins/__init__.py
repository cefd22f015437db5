"""Plugins for Apache Kafka."""
