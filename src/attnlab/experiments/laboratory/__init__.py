"""The copying laboratory: networks that copy, or look for a keyword. When is attention learned, and what if it is not?

`success` has what most share: a setting, a run's outcome, and when it counts as learned.
"""
