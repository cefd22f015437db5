"""Schedules: what starts runs of deployed pipelines at times, after other runs, and for new partitions.

Rules, texts and JSON are those of CDAP 6: the docstrings name its classes.
"""
