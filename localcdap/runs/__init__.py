"""Runs of pipelines: :class:`~localcdap.runs.service.RunService` starts run processes and applies their
reports.

``preview`` and ``debug`` run pipelines and single stages without writing anything.
"""
