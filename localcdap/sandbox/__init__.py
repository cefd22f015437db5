"""The sandbox: user code runs in plugin workers, separate processes with limits on time and memory.

:class:`~localcdap.sandbox.pool.PluginWorkers` is the pool that services use,
:class:`~localcdap.sandbox.pool.PluginWorker` supervises one process, and
:mod:`localcdap.sandbox.worker` is the process itself.
"""
