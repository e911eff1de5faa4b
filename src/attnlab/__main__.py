"""``python -m attnlab`` is the ``attnlab`` command."""

from attnlab.cli.main import main

main()
