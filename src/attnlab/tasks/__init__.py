"""Tasks: where examples come from, one file a family. They know nothing of models or training.

``copying`` (P3 3.3, 6.2), ``topics`` (P1 3), and ``batch``, the records that tasks hand out.
"""
