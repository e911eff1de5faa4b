"""Pages and charts: single HTML files that open from disk without a network."""
