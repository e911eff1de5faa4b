"""Topic sst."""
