"""System applications: deployed from artifacts, each running in its own process, called through services.

:class:`~localcdap.apps.service.AppService` lists and calls them,
:class:`~localcdap.apps.processes.AppProcesses` runs their processes, and
:class:`~localcdap.apps.child.AppRuntime` is the application inside its process.
"""
