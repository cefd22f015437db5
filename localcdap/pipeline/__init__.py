"""Pipelines: documents, structure rules, macros, validation, editing, and what a namespace stores of them.

The packages import each other in one direction: ``document``, then ``rules`` and ``macros``, ``validation``,
:mod:`~localcdap.pipeline.environment` (what a namespace means for pipelines),
:mod:`~localcdap.pipeline.resolver`, and the services: ``studio`` (:mod:`~localcdap.pipeline.service`),
``editing``, ``library`` and ``methods``.
A document is parsed once a process: inside, the typed
:class:`~localcdap.pipeline.document.model.PipelineDocument` is passed on.
"""
