"""Plugins of MongoDB."""
