"""Commands for pipelines: their files, what is deployed, and its schedules."""
