"""Namespaces and what is kept in them: preferences, connections, secure keys, documents of clients.

:class:`~localcdap.namespaces.service.NamespaceService` creates and deletes namespaces. Other packages
register a :class:`~localcdap.namespaces.model.NamespaceResource` for what they store in a namespace.
"""
