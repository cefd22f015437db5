"""Artifacts: the files and folders that contain plugins and applications, and their versions.

:class:`~localcdap.artifacts.service.ArtifactService` keeps an index of all artifacts and finds the plugin
that a stage means. :mod:`localcdap.artifacts.loading` loads an artifact's code in any process.
"""
