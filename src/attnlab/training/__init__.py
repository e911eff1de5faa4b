"""Training: a run spec in, a run in the store out.

``spec`` (what decides a run), ``schedule`` (how long, measured when), ``problem`` and ``topics`` (spec brought
to life), ``loop`` (`train`), ``metrics``, ``store`` with ``checkpoint``, ``files``, ``tables`` and ``lock`` (runs on
disk), ``sweep`` with ``engine`` and ``worker`` (many runs at once), ``progress`` (on the screen), ``environment``.
"""
