"""Editing sessions: a front end changes a pipeline edit by edit, and every edit is validated at once.

:class:`~localcdap.pipeline.editing.service.EditingService` is the service,
:class:`~localcdap.pipeline.editing.session.EditingSession` one session,
:mod:`~localcdap.pipeline.editing.edits` lists what an edit can be, and
:class:`~localcdap.pipeline.editing.incremental_validator.IncrementalValidator` holds failures and schemas.
"""
