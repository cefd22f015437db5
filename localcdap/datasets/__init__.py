"""Datasets: services for the tables that pipelines write and read, SQL on them, and remote transactions."""
