"""The log of a run.

:class:`~.run_log.RunLog` is a live view of a log of any length, with filters and search.
"""
