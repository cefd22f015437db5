"""Runs that write nothing and show the records of every stage.

:class:`~localcdap.engine.preview.preview_run.PreviewDriver` previews pipelines and runs the cases of
pipeline tests;
:mod:`~localcdap.engine.preview.stage_debug` runs single stages.
"""
