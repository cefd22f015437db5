"""Aggregators: records grouped, made unique, turned into columns."""
