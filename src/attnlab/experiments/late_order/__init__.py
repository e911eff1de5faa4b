"""Whether the late order of Observation 3 (P3 6.1) is there at another size or with another optimiser."""
