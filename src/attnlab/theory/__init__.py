"""Theory: what can be computed without training. It knows nothing of models or runs.

``norms``: score and embedding norm of a topic word (P1), the identity between them and the ideal dynamics.
``gated``: the blog's toy classifier, its flow in closed form, and when its gate comes back.
``gain``, ``forecast``: whether co-occurrence gives attention a reason to learn, from data alone.
``relevance``: the slides' two sentences under uniform attention, by descent and in closed form.
``links``, ``counts``, ``ibm1``: count tables and IBM Model 1 (P3 4.2); ``symmetrise``, ``aligner``, ``lexicon``,
``alignment``: word alignments, their tables on disk, and their error rate.
``initial_derivative``: what the bag-of-words proxy learns first (P3 4.1, A.2).
``contrast``: how far a distribution's count table tells a word from the others of its sequence, in closed form.
"""
