"""Events of OpenLineage about deployed pipelines and runs, for other systems: in a file, or over HTTP.

:class:`~localcdap.openlineage.service.OpenLineageListener` writes an event into the database in the
transaction that handles the system event it stands for; a thread for each destination takes it from there.
"""
