"""The terminal studio. No other package imports Textual.

:class:`~localcdap.tui.app.StudioApp` is the app; screens, dialogs and widgets know it as a
:class:`~localcdap.tui.studio.Studio`. Everything the studio does goes through the services of
:class:`localcdap.host.cdap.Cdap`, so that it works the same whether this process is the host of the instance
or a client of another one.
"""
