"""Tests of pipelines: given records in, expected records out, in files that people review.

A :class:`~localcdap.pipeline_tests.model.PipelineTest` is read from a file, run as a case by
:class:`~localcdap.pipeline_tests.service.PipelineTestService`, and evaluated into a
:class:`~localcdap.pipeline_tests.report.PipelineTestReport`.
"""
