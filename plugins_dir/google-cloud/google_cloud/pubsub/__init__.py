"""Pub/Sub as topics of the instance."""
