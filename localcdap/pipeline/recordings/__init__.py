"""Recorded sources and sinks: files, tables or generated records in place of systems that are not here.

A stage is rewritten onto a plugin that every instance has, such as File or Table, before the pipeline is
validated. Everything after that, the engine included, knows no recordings. Of these modules, :mod:`.model`
says what stands in for which stage, :mod:`.stand_ins` replaces the plugins of stages, and :mod:`.documents`
rewrites the document of a run.
"""
