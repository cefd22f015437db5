"""Namespaces and the settings in them: preferences, connections and secure keys.

:class:`~localcdap.namespaces.service.NamespaceService` creates and deletes namespaces. Other packages
register a :class:`~localcdap.namespaces.resources.NamespaceResource` for what they store in a namespace.
"""
