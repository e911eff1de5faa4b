"""Closed forms and count tables, put to the test. Nothing of these is trained in the run store."""
