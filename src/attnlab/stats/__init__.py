"""Statistics: intervals of rates, bootstrap, exact tests, ranks."""
