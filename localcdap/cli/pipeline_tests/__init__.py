"""The command that tests pipelines."""
