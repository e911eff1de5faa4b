"""The corpora that are known by name, one file each: where their files are, how they are read, what the paper says.

``corpus`` has the records they share, ``known`` the registry, ``hub`` the way through the network.
"""

from attnlab.data.corpora.corpus import Found, HubSource, Known, PaperSizes, Part, Raw
from attnlab.data.corpora.known import KNOWN, data_folder, known_corpus

__all__ = ["KNOWN", "Found", "HubSource", "Known", "PaperSizes", "Part", "Raw", "data_folder", "known_corpus"]
