"""Editing sessions: pipelines that are changed step by step, and judged after every step."""
