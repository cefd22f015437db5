"""The pipelines that a namespace stores: deployed applications and drafts; and its plugin templates.

The services are :class:`~localcdap.pipeline.library.applications.ApplicationService`,
:class:`~localcdap.pipeline.library.drafts.DraftService` and
:class:`~localcdap.pipeline.library.templates.TemplateService`.
"""
