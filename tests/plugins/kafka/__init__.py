"""Plugins for Kafka, at the broker that the client brings."""
