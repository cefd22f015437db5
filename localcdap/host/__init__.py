"""The composition root: the services of an instance, built from its settings, and the way to them.

The first process that connects to an instance becomes its host: it opens the database, builds the
services and answers the calls of others. Later ones are its clients. When a host leaves, the next call
of a client finds the new one, or makes that client the host.

``python -m localcdap.host DIR`` is a host without a front end: it stays while runs are active or
clients are connected.
"""

from localcdap.host.cdap import Cdap, connect
from localcdap.host.services import make_engine_server

__all__ = ["Cdap", "connect", "make_engine_server"]
