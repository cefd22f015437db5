"""Artifacts: where plugins come from, in which versions, and which one a pipeline means."""
