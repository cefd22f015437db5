"""What a namespace stores of pipelines: deployed applications, drafts and plugin templates.

The services are :class:`~localcdap.pipeline.library.applications.ApplicationService`,
:class:`~localcdap.pipeline.library.drafts.DraftService` and
:class:`~localcdap.pipeline.library.templates.TemplateService`.
"""
