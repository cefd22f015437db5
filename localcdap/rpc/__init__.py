"""Remote procedure calls between the processes of an instance.

:mod:`~localcdap.rpc.host_lock` decides which process is the host, :class:`~localcdap.rpc.server.Server`
answers calls at the host's socket, :class:`~localcdap.rpc.client.Client` makes them, and
:func:`~localcdap.rpc.methods.make_proxy` gives callers an object with the methods of a service class.
"""
