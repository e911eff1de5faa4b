"""The words of the papers that a page explains where they stand."""

GLOSSARY = {
    "alpha": "Attention: the weight that each input word gets, adding up to 1 over a text.",
    "beta": "Lexical probe: how probable the right output would be if the network attended to that one word alone.",
    "beta_uf": "The lexical probe of a twin network that was trained with equal attention on all words.",
    "beta_px": "The lexical probe of the simplest model under equal attention: one vector for each word, averaged.",
    "beta_log": "The weights of a logistic regression on word counts, read as a lexical probe.",
    "beta_ibm": "The lexical probe of a count table: how often words occur together, as IBM Model 1 counts.",
    "alpha_ibm": "Attention worked out from counts alone, by IBM Model 1.",
    "alpha_fr": "Attention trained over a lexicon that stays frozen at its random start.",
    "gamma": "The lexical probe as log-odds.",
    "delta": "Influence: how fast the output's log-probability grows with the word, by the gradient.",
    "loo": "Leave-one-out: what the output's log-probability loses without the word.",
    "xi": "Agreement read as accuracy: how good a network is once its attention agrees that well with a trained one.",
    "tau": "Kendall's rank correlation between two orders of the same words, from -1 to 1.",
    "A(u, v)": "Agreement: how often the top position of the field u is among the top 5 % of the field v.",
    "FC": "P1's classifier that is fixed and linear.",
    "TC": "P1's classifier that is linear and trained.",
    "TL": "P1's classifier of two trained layers.",
    "P1": "Lu, Mao, Nayak: On the Dynamics of Training Attention Models, 2021.",
    "P2": "Liu, Balaji, Xue, Min: Analyzing Attention Mechanisms through Lens of Sample Complexity and Loss Landscape.",
    "P3": "Snell, Zhong, Klein, Steinhardt: Approximating How Single Head Attention Learns, 2021.",
    "blog": "The blog post of P3's authors, 2021.",
    "slides": "Understanding Attention Training via Output Relevance, 2020, by P3's authors.",
}
"""Each word with its meaning, in the order of the glossary's page."""
