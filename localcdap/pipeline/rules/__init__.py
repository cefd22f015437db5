"""The structure of pipelines, and the rules that it has to keep."""
