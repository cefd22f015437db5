"""Recipes on whole files, without Spark: the formats of files, their readers and writers, and the jobs."""
