"""localcdap: CDAP data pipelines for one person and one machine.

Plugin authors import :mod:`localcdap.api`; programs that drive an instance call
:func:`localcdap.api.client.connect`. Nothing inside the package imports this root.
"""

from localcdap.moved import install

install()
del install
