"""How runs begin: the order of a run, its place in the queue, its process, and where it takes place.

:class:`~.preparation.RunPreparer` makes the record and the order of a run. :class:`~.starter.RunStarter`
gives it a process, at once or when it is its turn in the :class:`~.queue.RunQueue`.
:class:`~.launcher.RunLauncher` sends the order once a :class:`~.provisioners.Provisioner` has an engine.
"""
