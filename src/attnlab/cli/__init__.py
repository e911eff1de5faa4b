"""The command line: one file a command, thin; ``main`` puts them together."""
