"""The corpora that are known by name, one file each: where their files are, how they are read, what the paper says."""

from attnlab.tasks.corpora import ag_news, amazon, imdb, newsgroups, sms, sst, yelp
from attnlab.tasks.corpora.corpus import Found, Known, PaperSizes, Part, Raw

KNOWN: dict[str, Known] = {
    module.KNOWN.name: module.KNOWN for module in (imdb, ag_news, newsgroups, sst, amazon, yelp, sms)
}

__all__ = ["KNOWN", "Found", "Known", "PaperSizes", "Part", "Raw"]
