"""Requests to web services."""
