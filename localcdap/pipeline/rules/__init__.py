"""The structure of pipelines: their graph, and the rules that every pipeline must follow.

:class:`~localcdap.pipeline.rules.graph.Graph` is the one graph search;
:func:`~localcdap.pipeline.rules.structure_rules.check_structure` applies the rules.
"""
