"""Runs pipelines on Spark: the server, the plan of a run, its execution and its commit."""
