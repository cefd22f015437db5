"""Two local web servers: the studio in a browser, and the REST API of CDAP (:mod:`localcdap.server.rest`).

The page of the first shows the terminal studio. Each tab of a browser has a studio process of its own, which
Textual's web driver connects to the page. The page can do what the user can, so the server listens on the
loopback interface only and answers nobody without the cookie that a link, printed in the terminal, hands out
once. The second answers nobody without a token, unless its user says so.
"""
