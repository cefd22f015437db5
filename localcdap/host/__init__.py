"""The composition root: it builds the services of an instance and connects front ends to them.

The first process that connects to an instance becomes its host: it opens the database, builds the services
and answers the calls of other processes, which are its clients. When a host ends, the next call of a client
connects to the new host, or makes that client the host. :func:`~localcdap.host.cdap.connect` returns a
:class:`~localcdap.host.cdap.Cdap`, which hides the difference.

``python -m localcdap.host DIR`` starts a host without a front end. It stays while runs are active or
clients are connected.
"""

from localcdap.host.cdap import Cdap, connect
from localcdap.host.services import make_engine_server

__all__ = ["Cdap", "connect", "make_engine_server"]
