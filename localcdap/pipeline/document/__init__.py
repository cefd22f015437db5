"""Pipeline documents: reading every form of CDAP 3.2 to 6, and changing them without losing anything.

:func:`~localcdap.pipeline.document.reader.read_document` parses a document to the typed
:class:`~localcdap.pipeline.document.model.PipelineDocument`, which keeps its source unchanged.
"""
