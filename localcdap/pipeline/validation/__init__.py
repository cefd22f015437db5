"""Validation: plugins are found, stages configured in order, schemas propagated, and a specification built.

:func:`~localcdap.pipeline.validation.resolution.resolve_pipeline` does all of it for a document;
:class:`~localcdap.pipeline.validation.schema_propagation.SchemaPropagation` repeats only what a
change affects.
"""
