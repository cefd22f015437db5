"""Access to the services of an instance from a Python program: the services that the command line calls."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any


def connect(home: str | Path | None = None) -> AbstractContextManager[Any]:
    """Connect to an instance for the duration of a ``with`` block.

    >>> with connect("my-instance") as cdap:  # doctest: +SKIP
    ...     cdap.artifacts.list_plugins("default")

    :param home: the folder of the instance; by default found as the command line finds it.
    :returns: a context manager that gives ``localcdap.host.Cdap``, whose attributes are the services:

        - ``studio``: validate pipelines and stages; ``editing``: edit a pipeline step by step
        - ``applications``, ``drafts``, ``templates``: deployed and unfinished pipelines, plugin templates
        - ``runs``, ``previews``, ``debugging``, ``cases``: run a pipeline, or parts of it on a few records;
          ``recordings``: what stages read and write in place of systems that are not here
        - ``schedules``: what starts runs at times, after other runs and for new partitions
        - ``statistics``: dashboards and overviews of runs, and why they fail
        - ``artifacts``, ``methods``: the plugins and their methods; ``apps``: system applications;
          ``jobs``: what they compute on Spark
        - ``datasets``: typed tables and file sets; ``dataset_modules``: artifacts with types of yours;
          ``tables``, ``sql``: their rows; ``paths``: files that properties name
        - ``metadata``, ``lineage``, ``audit``: tags and properties of entities; which programs read and write
          datasets, and where their fields come from and go to; who did what
        - ``impact``: what a change of a pipeline breaks; ``openlineage``: events for other tools
        - ``namespaces``, ``preferences``, ``connections``, ``secure_keys``: namespaces and what they contain;
          ``connectors``: a look into connections; ``oauth``: providers of tokens, and credentials
        - ``sync``: namespaces and folders of JSON files for Git
        - ``messaging``, ``database``, ``security``: topics and events; backups; privileges
        - ``transactions``: transactions on structured tables, with ``structured_tables`` to create them
        - ``client_documents``: what clients of the REST server store for themselves

        ``table_exports``, ``table_statements``, ``run_datasets`` and ``transaction_service`` are for
        localcdap's own processes.
    :raises SettingsError: when the settings of the instance are wrong.
    :raises StoreError: when its database cannot be used.
    :raises HostError: when the process that owns it does not answer.
    """
    # Imported by name: plugins import localcdap.api, which must not import the other packages.
    found = importlib.import_module("localcdap.home").find_home(str(home) if home else None)
    connection: AbstractContextManager[Any] = importlib.import_module("localcdap.host").connect(
        found
    )
    return connection
