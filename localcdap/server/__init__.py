"""The studio in a browser: a local web server whose page shows the terminal studio.

Each tab of a browser has a studio process of its own, which Textual's web driver connects to the page. The
page can do what the user can, so the server listens on the loopback interface only and answers nobody
without the cookie that a link, printed in the terminal, hands out once.
"""
