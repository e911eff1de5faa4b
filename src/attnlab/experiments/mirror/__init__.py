"""Mirror."""
