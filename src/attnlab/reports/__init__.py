"""Reports: charts and pages drawn from results. Everything opens from disk without a network."""
