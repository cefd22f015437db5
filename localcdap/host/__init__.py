"""The composition root: it builds the services of an instance and connects front ends to them.

The host of an instance is a process of its own, ``python -m localcdap.host DIR``: it opens the database,
builds the services and answers the calls of other processes, its clients. The first front end starts it,
and it ends when it has neither clients nor work. When it is lost, the next call of a client starts another
one. :func:`~localcdap.host.cdap.connect` returns a :class:`~localcdap.host.cdap.Cdap` with the services.

Front ends are never hosts. A front end ends when its user wants it to, and with its terminal; previews,
tests and calls that other processes have in progress in the host, and runs that wait for Spark, must not
end with it. They cannot be handed over: a call has its thread, a preview its process and a transaction its
locks in the host.
"""

from localcdap.host.cdap import Cdap, connect, open_in_process

__all__ = ["Cdap", "connect", "open_in_process"]
