"""The contracts of the engine: what its processes send each other, without any code that carries it out.

``flow``: configured stages and the streams between them; ``orders``: what a run process is asked to do
(:class:`~localcdap.engine.messages.orders.WorkOrder`); ``spool``: what it reports back; ``samples``: the
records that it shows of a stage; ``host``: what it asks of the host while it runs.
"""
