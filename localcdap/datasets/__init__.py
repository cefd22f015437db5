"""Datasets: the tables that pipelines write and read."""
