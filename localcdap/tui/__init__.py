"""The terminal studio: the face of localcdap. The only room that imports textual.

Everything it does goes through the services of :class:`localcdap.host.cdap.Cdap`, so that it works the same
whether this process is the host of the instance or a client of another one.
"""
