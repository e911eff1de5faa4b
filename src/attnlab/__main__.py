"""``python -m attnlab`` is the ``attnlab`` command."""

import sys

if not sys.flags.safe_path:  # the folder one stands in, where any file may have the name of a module
    del sys.path[0]

from attnlab.cli.main import main

main()
