"""The namespaces area."""
