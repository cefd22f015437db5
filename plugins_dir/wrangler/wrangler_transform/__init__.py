"""Wrangler."""
