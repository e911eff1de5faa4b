"""Theory: what can be computed without training. It knows nothing of models, tasks or runs.

``norms``: score and embedding norm of a topic word (P1), the identity between them and the ideal dynamics.
"""
