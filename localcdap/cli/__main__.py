"""``python -m localcdap.cli`` is ``localcdap``."""

from localcdap.cli.main import main

if __name__ == "__main__":
    main()
